// SPDX-License-Identifier: Apache-2.0
// Reads the harness's part of a configuration: the members that the trainer does not read.
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

  // Paths in an experiment are relative to this folder.
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::map<std::string, netem::Topology> loaded_;
};

// Moves the harness's members out of a configuration and returns them; the trainer's remain.
Json take_controller_part(Json& config);

// Returns a run without labels and training. All places are pointers into the merged configuration. Throws
// InputError.
Run read_controller_part(const Json& controller_part, Topologies& topologies);

// Returns the configuration that the trainer checks for this run. `folder` is the experiment's. Throws
// InputError.
Json training_part(Json trainers_part, const Run& run, const std::filesystem::path& folder);

}  // namespace thinpipe
