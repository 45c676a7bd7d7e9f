// A convergence run: all workers as threads of one process, so that it takes no network to see what a method
// does to the trajectory, and what it would send. It tells nothing of time: threads share the processor.
#pragma once

#include "trainer/training_loop.hh"

namespace thinpipe::trainer {

struct ConvergenceFile {
  std::optional<std::string> starting_weights;  // path
  std::string log_level = "info";
  TrainingConfig config;
};

// Strict; throws InputError.
ConvergenceFile read_convergence_file(const std::string& path);

// Trains, and logs to standard error. Events are those that a worker of rank 0 has (worker.hh), and the
// summary says how far results were from the mean. Returns whether it finished.
bool converge(const ConvergenceFile& file, const EventSink& events);

}  // namespace thinpipe::trainer
