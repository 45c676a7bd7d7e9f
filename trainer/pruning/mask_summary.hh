// SPDX-License-Identifier: Apache-2.0
// A summary of a mask by layer, for the record.
#pragma once

#include "common/support/json_object.hh"
#include "trainer/pruning/mask.hh"

namespace thinpipe::trainer {

// Returns [{"name": "conv1.weight", "weights": 288, "kept": 144}, …] in the order of the mask's layers.
Json summarise(const Mask& mask);

}  // namespace thinpipe::trainer
