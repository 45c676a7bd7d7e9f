// SPDX-License-Identifier: Apache-2.0
// Tells the controller, which has no LibTorch, the registered names and options.
#pragma once

#include "common/support/json_object.hh"

namespace thinpipe::trainer {

// Returns every registry with each entry's summary and options, the keys of the configuration itself
// (describe_training_config), the number of CUDA devices that LibTorch finds, and the versions of the
// libraries in use.
Json describe();

}  // namespace thinpipe::trainer
