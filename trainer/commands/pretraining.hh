// SPDX-License-Identifier: Apache-2.0
// Trains the initial weights that all runs of an experiment share: briefly, in one process,
// without a network.
#pragma once

#include "trainer/training/training_loop.hh"

namespace thinpipe::trainer {

// Trains with all of this machine's cores and writes the weights to `output`, atomically. Emits the events
// "pretraining" after each iteration and "pretrained" at the end.
void pretrain(const TrainingConfig& config, const std::string& output, const EventSink& events);

}  // namespace thinpipe::trainer
