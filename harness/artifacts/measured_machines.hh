// SPDX-License-Identifier: Apache-2.0
// The machines of a simulation's workers. Costs of communication are measured here once for all runs with the same
// network, collective and number of workers, and kept in machines/ of the experiment's results; or they are read from
// a file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "harness/artifacts/artifact_cache.hh"
#include "harness/executors/time_limits.hh"
#include "harness/plan/run.hh"
#include "harness/simulation/machine_model.hh"

namespace thinpipe {

// A machine, and the file of its costs and that file's hash; nullopt if communication is free.
struct SharedMachine {
  MachineModel model = {};
  Json device = Json::object();  // with which it was measured
  std::optional<std::string> path = {};
  std::optional<std::string> hash = {};
};

class MeasuredMachines {
 public:
  // `since`: measure again what was measured before.
  MeasuredMachines(std::filesystem::path folder, ArtifactCache::Since since, StopSignals& stop)
      : machines_(std::move(folder), "the costs of communication", since, stop) {}

  // Returns the machine of a run that has one, or the outcome of a measurement that did not complete.
  std::variant<SharedMachine, Outcome> get_or_build(const Run& run, Executor& executor, Progress& progress,
                                                    const TimeLimits& limits);

  // Returns the file that get_or_build() would have to measure; nullopt if it is there or given, or the run has no
  // machine.
  std::optional<std::filesystem::path> missing(const Run& run) const;

 private:
  ArtifactCache machines_;
};

}  // namespace thinpipe
