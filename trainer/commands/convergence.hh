// SPDX-License-Identifier: Apache-2.0
// A convergence run: a method's effect on the trajectory, and the traffic it would cause, without a network.
// It does not measure time, because the workers are threads that share the CPU.
#pragma once

#include "trainer/commands/in_process_training.hh"

namespace thinpipe::trainer {

// Strict; throws InputError.
InProcessTraining read_convergence_file(const std::string& path);

// Trains and writes the trace; the summary gives the distance of results from the mean. Returns whether
// training finished.
bool converge(const InProcessTraining& training, const EventSink& events);

}  // namespace thinpipe::trainer
