// Runs an experiment's runs one after the other: skips what has ended, outlives what fails, stops when
// asked to, and leaves alone what another controller is at.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/support/signals.hh"
#include "harness/executors/time_limits.hh"
#include "harness/plan/run_plan.hh"
#include "harness/reports/digest.hh"
#include "netem/kernel/awake_cores.hh"

namespace thinpipe {

struct SweepOptions {
  std::string experiment;
  std::filesystem::path results;  // the experiment's own folder
  bool fresh = false;             // do again what has ended
  bool retry_failed = false;      // do again what has failed
  bool retry_degraded = false;    // do again what the network did not carry faithfully
  TimeLimits limits;
  netem::IdleCores idle_cores = netem::IdleCores::as_needed;
  std::string log_level = "info";  // of the logs in each run's folder
  std::vector<std::string> command_line;
};

// The digests of the runs that ended earlier, well or not, and are not to be run again; nullopt for the
// others.
using KeptRuns = std::vector<std::optional<Digest>>;
KeptRuns find_kept(const std::vector<Run>& runs, const SweepOptions& options);

struct SweepResult {
  std::vector<Digest> digests;  // in the order of the runs; without those that an interruption left out
  bool all_well = true;         // every run is completed
};

// `kept`: those of the runs, which are not looked for again.
SweepResult run_sweep(const std::vector<Run>& runs, KeptRuns kept, const SweepOptions& options,
                      const TrainerProgram& trainer, StopSignals& stop);

}  // namespace thinpipe
