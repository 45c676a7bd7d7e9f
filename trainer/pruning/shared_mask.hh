// SPDX-License-Identifier: Apache-2.0
// Makes all workers use the same mask.
#pragma once

#include "trainer/base/modules.hh"
#include "trainer/collectives/collective.hh"
#include "trainer/pruning/mask.hh"

namespace thinpipe::trainer {

// Steps between two checks that the workers' masks are equal.
constexpr std::int64_t kMaskCheckInterval = 1000;

// Returns the mask that `choose` returns on rank 0, the only rank that calls it: a criterion may depend on
// the batches it sees. Collective: broadcasts ceil(weights / 8) bytes, then compares the hashes.
Mask share_mask(const torch::nn::Module& model, const std::function<Mask()>& choose, Collective& collective);

// Throws DivergenceError on every worker if masks differ, naming the ranks whose mask differs from rank 0's.
// Collective.
void check_mask_replicas(const Mask& mask, Collective& collective);

}  // namespace thinpipe::trainer
