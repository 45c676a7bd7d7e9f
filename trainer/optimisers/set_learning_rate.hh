// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

// Sets the learning rate of all parameter groups.
void set_learning_rate(torch::optim::Optimizer& optimiser, double learning_rate);

}  // namespace thinpipe::trainer
