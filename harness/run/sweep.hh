// Executes an experiment's runs one after the other. Skips runs that have ended, continues after failures,
// stops on request, and leaves runs alone that another controller executes.
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
  bool fresh = false;             // repeat runs that have ended
  bool retry_failed = false;      // repeat runs that have failed
  bool retry_degraded = false;    // repeat runs whose fidelity is degraded
  TimeLimits limits;
  netem::IdleCores idle_cores = netem::IdleCores::as_needed;
  std::string log_level = "info";  // of the logs in each run's folder
  std::vector<std::string> command_line;
};

// The digests of runs that have ended, completed or failed, and are not to be repeated; nullopt for the
// others.
using KeptRuns = std::vector<std::optional<Digest>>;
KeptRuns find_kept(const std::vector<Run>& runs, const SweepOptions& options);

struct SweepResult {
  std::vector<Digest> digests;  // in the order of the runs; without those that an interruption skipped
  bool all_well = true;         // every run is completed
};

// Executes the runs. `kept`: the result of find_kept() for them.
SweepResult run_sweep(const std::vector<Run>& runs, KeptRuns kept, const SweepOptions& options,
                      const TrainerProgram& trainer, StopSignals& stop);

}  // namespace thinpipe
