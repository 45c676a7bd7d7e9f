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

// Takes the harness's members out of a configuration, whose others are the trainer's.
Json take_harness_part(Json& config);

// A run without labels and training. All places are pointers into the merged configuration. Throws
// InputError.
Run read_harness_part(const Json& harness_part, Topologies& topologies);

// What the trainer is to read of its part for this run. `folder` is the experiment's. Throws InputError.
Json training_part(Json trainers_part, const Run& run, const std::filesystem::path& folder);

}  // namespace thinpipe
