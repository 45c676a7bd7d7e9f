// SPDX-License-Identifier: Apache-2.0
// Saves the computation of filters that are pruned as a whole.
#pragma once

#include "trainer/base/modules.hh"
#include "trainer/pruning/mask.hh"

namespace thinpipe::trainer {

// Lets every FilteredLayer of the model compute only the filters of which the mask keeps a weight. Replaces what
// an earlier mask set, so that filters return. The pruned weights must be zero: Mask::apply() calls this.
void skip_pruned_filters(const Mask& mask, torch::nn::Module& model);

}  // namespace thinpipe::trainer
