// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/shared_mask.hh"

#include "trainer/collectives/replica_check.hh"

namespace thinpipe::trainer {

Mask share_mask(const torch::nn::Module& model, const std::function<Mask()>& choose, Collective& collective) {
  const torch::Tensor packed =
      collective.rank() == 0 ? choose().packed() : torch::zeros_like(Mask::keep_all(model).packed());
  collective.broadcast(packed, 0);
  Mask mask = Mask::unpack(model, packed);
  check_mask_replicas(mask, collective);
  return mask;
}

void check_mask_replicas(const Mask& mask, Collective& collective) {
  check_replicas("pruning mask", mask.hash(), collective);
}

}  // namespace thinpipe::trainer
