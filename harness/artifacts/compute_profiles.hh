// How long computing takes, for replays: measured here, or estimated for a device, once for all runs that
// compute the same, and kept in <experiment's results>/compute-profiles/; or taken from a file.
#pragma once

#include <filesystem>
#include <variant>

#include "harness/artifacts/made_once.hh"
#include "harness/executors/time_limits.hh"
#include "harness/plan/run.hh"
#include "netem/kernel/awake_cores.hh"

namespace thinpipe {

class ComputeProfiles {
 public:
  // `fresh`: measure anew, once, even where a profile is kept from earlier.
  ComputeProfiles(std::filesystem::path folder, bool fresh, netem::IdleCores idle_cores, StopSignals& stop)
      : profiles_(std::move(folder), "a compute profile", fresh, stop), idle_cores_(idle_cores) {}

  // {"path", "hash" (of the file), "origin", "device", "concurrent_workers"}; or the outcome of a measurement
  // or an estimate that did not complete. `starting_weights`: a path, or null.
  std::variant<Json, Outcome> obtain(const Run& run, const Json& starting_weights, Executor& executor,
                                     Progress& progress, const TimeLimits& limits);

 private:
  MadeOnce profiles_;
  netem::IdleCores idle_cores_;
};

}  // namespace thinpipe
