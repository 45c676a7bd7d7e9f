// SPDX-License-Identifier: Apache-2.0
// Compute profiles for replays: read from a file, or measured here, or estimated for a device. Measurements
// and estimates are made once for all runs that compute the same, and kept in
// compute-profiles/ of the experiment's results.
#pragma once

#include <filesystem>
#include <variant>

#include "harness/artifacts/artifact_cache.hh"
#include "harness/executors/time_limits.hh"
#include "harness/plan/run.hh"
#include "netem/kernel/awake_cores.hh"

namespace thinpipe {

class ComputeProfiles {
 public:
  // `since`: measure again what was measured before.
  ComputeProfiles(std::filesystem::path folder, ArtifactCache::Since since, netem::IdleCores idle_cores,
                  StopSignals& stop)
      : profiles_(std::move(folder), "a compute profile", since, stop), idle_cores_(idle_cores) {}

  // Returns {"path", "hash" (of the file), "origin", "device", "concurrent_workers"}, or the outcome of a
  // measurement or estimate that did not complete. `initial_weights`: a path; nullopt: random ones.
  std::variant<Json, Outcome> get_or_build(const Run& run, const std::optional<std::string>& initial_weights,
                                           Executor& executor, Progress& progress, const TimeLimits& limits);

  // Returns the file that get_or_build() would have to make; nullopt if it is there or given, or the run needs none.
  std::optional<std::filesystem::path> missing(const Run& run) const;

 private:
  ArtifactCache profiles_;
  netem::IdleCores idle_cores_;
};

}  // namespace thinpipe
