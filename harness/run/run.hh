// SPDX-License-Identifier: Apache-2.0
// Executes one run: builds its network, starts and monitors its workers, collects measurements, and writes
// the record.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/support/log.hh"
#include "harness/artifacts/compute_profiles.hh"
#include "harness/artifacts/initial_weights.hh"
#include "harness/artifacts/measured_machines.hh"
#include "harness/executors/executor.hh"
#include "harness/executors/time_limits.hh"
#include "harness/plan/run.hh"
#include "harness/records/record_data.hh"
#include "harness/terminal/progress.hh"
#include "netem/kernel/awake_cores.hh"
#include "netem/link_captures.hh"

namespace thinpipe {

// The lock that a controller holds in the run's folder while it executes the run; see LockFile.
inline constexpr const char* run_lock_name = ".lock";

// The settings and objects that all runs of one command share.
struct RunContext {
  std::string experiment;
  std::filesystem::path results;  // the experiment's folder
  std::vector<std::string> command_line;
  bool fresh;  // starts from the beginning even if the run was interrupted with a checkpoint
  TimeLimits limits;
  netem::IdleCores idle_cores;
  double link_samples_per_s;  // 0: no time series of the links
  netem::CaptureOptions capture;
  bool connections;                  // whether to sample TCP connections
  bool worker_times;                 // whether to keep the times of all workers
  std::filesystem::path event_file;  // for TensorBoard; empty: none
  std::string log_level;             // of support/log.hh
  Executor& executor;
  InitialWeights& weights;
  ComputeProfiles& profiles;
  MeasuredMachines& machines;
  Progress& progress;
};

// Executes the run. Returns the record, which is also in <results>/<run id>/run.json. An error in the run
// makes a failed record; throws only if the record cannot be written.
Record execute_run(const Run& run, const RunContext& context);

}  // namespace thinpipe
