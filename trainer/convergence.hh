// A convergence run: what a method does to the trajectory, and what it would send, without a network. It
// tells nothing of time: threads share the processor.
#pragma once

#include "trainer/in_process_training.hh"

namespace thinpipe::trainer {

struct ConvergenceFile {
  InProcessTraining training;
  std::optional<std::string> communication_trace;  // path: where it is written
};

// Strict; throws InputError.
ConvergenceFile read_convergence_file(const std::string& path);

// Trains and writes the trace; the summary says how far results were from the mean. Returns whether it
// finished.
bool converge(const ConvergenceFile& file, const EventSink& events);

}  // namespace thinpipe::trainer
