// One mask for all workers.
#pragma once

#include "trainer/collectives/collective.hh"
#include "trainer/modules.hh"
#include "trainer/pruning/mask.hh"

namespace thinpipe::trainer {

// Steps between two checks that the workers' masks are still the same.
constexpr std::int64_t kMaskAgreementInterval = 1000;

// Collective. The mask that `choose` returns on rank 0, where alone it is called: a criterion may depend on
// the batches it sees. ceil(weights / 8) bytes are broadcast, then the hashes compared.
Mask share_mask(const torch::nn::Module& model, const std::function<Mask()>& choose, Collective& collective);

// Collective. Throws DivergenceError, on every worker alike, naming the ranks whose mask differs from rank
// 0's.
void check_mask_agrees(const Mask& mask, Collective& collective);

}  // namespace thinpipe::trainer
