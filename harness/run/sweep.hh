// SPDX-License-Identifier: Apache-2.0
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
#include "harness/run/kept_runs.hh"
#include "netem/kernel/awake_cores.hh"
#include "netem/link_captures.hh"

namespace thinpipe {

struct SweepOptions {
  std::string experiment;
  std::filesystem::path results;  // the experiment's own folder
  Repeat repeat;
  // What several runs share is made again if it was made before this time.
  std::optional<ChangeTime> artifacts_since = {};
  TimeLimits limits;
  netem::IdleCores idle_cores = netem::IdleCores::as_needed;
  double link_samples_per_s = 10;  // 0: no time series of the links
  netem::CaptureOptions capture;
  bool connections = true;            // whether to sample TCP connections
  bool worker_times = true;           // whether to keep the times of all workers
  std::filesystem::path tensorboard;  // the folder of event files; empty: none
  std::string log_level = "info";     // of the logs in each run's folder
  std::vector<std::string> command_line;
};

// What several runs share, and one task can make before they are executed.
enum class Preparation {
  weights,       // the initial weights
  measurements,  // the weights, the compute profile and the costs of communication
};

struct SweepResult {
  std::vector<Digest> digests;  // in the order of the runs; without those that an interruption skipped
  bool all_well = true;         // every run is completed
};

// Executes the runs, except those that are kept (find_kept).
SweepResult run_sweep(const std::vector<Run>& runs, KeptRuns kept, const SweepOptions& options,
                      const TrainerProgram& trainer, StopSignals& stop);

// The files that a run's execution would begin by making, and that other runs may need, too.
struct MissingFiles {
  std::optional<std::filesystem::path> weights;
  std::vector<std::filesystem::path> measurements;
};
MissingFiles missing_files(const Run& run, const SweepOptions& options, StopSignals& stop);

// Makes what the runs share, unless it is there already, without executing them. Returns false if that failed or was
// interrupted, with a message on standard error.
bool prepare_runs(const std::vector<Run>& runs, Preparation preparation, const SweepOptions& options,
                  const TrainerProgram& trainer, StopSignals& stop);

}  // namespace thinpipe
