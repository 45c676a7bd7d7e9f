// Runs an experiment's runs one after the other: skips what is complete, outlives what fails, stops when
// asked to.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/run_plan.hh"
#include "harness/signals.hh"

namespace thinpipe {

struct SweepOptions {
  std::string experiment;
  std::filesystem::path results;  // the experiment's own folder
  bool fresh = false;             // do completed runs again
  std::chrono::duration<double> stall_timeout{600};
  std::string log_level = "info";  // of the logs in each run's folder
  std::vector<std::string> command_line;
};

// The record of a run that completed earlier and need not run again.
std::optional<Json> completed_record(const Run& run, const SweepOptions& options);

struct SweepResult {
  std::vector<Json> records;  // in the order of the runs; ends where it was interrupted
  bool all_well = true;       // every run is completed
};

SweepResult run_sweep(const std::vector<Run>& runs, const SweepOptions& options,
                      const TrainerProgram& trainer, StopSignals& stop);

}  // namespace thinpipe
