// The harness's part of a configuration: what of a run does not go to its trainer.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "harness/plan/run.hh"

namespace thinpipe {

// Loads each topology once, whatever the number of runs that use it.
class Topologies {
 public:
  explicit Topologies(const std::string& experiment_file)
      : folder_(std::filesystem::path(experiment_file).parent_path()) {}

  const netem::Topology& load(const std::string& name, const Place& place);

  // Where files that an experiment names by a path are sought.
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::map<std::string, netem::Topology> loaded_;
};

// Of one point of a sweep. Places in the topology and in what changes are the user's; those in errors are
// pointers into the merged configuration. Throws InputError.
Run read_harness_part(const Point& point, Topologies& topologies);

}  // namespace thinpipe
