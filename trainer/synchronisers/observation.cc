// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/observation.hh"

namespace thinpipe::trainer {

Observation agree_on(const Observation& own, Collective& network) {
  const torch::Tensor mine = torch::tensor({own.sent_bytes, own.exchange_s, own.compute_s}, torch::kDouble);
  const auto workers = static_cast<std::size_t>(network.world_size());
  const std::vector<std::int64_t> counts(workers, mine.numel());
  const torch::Tensor all = network.all_gather_v(mine, counts).view({-1, mine.numel()});
  return {.sent_bytes = all.select(1, 0).mean().item<double>(),
          .exchange_s = all.select(1, 1).min().item<double>(),
          .compute_s = all.select(1, 2).max().item<double>()};
}

}  // namespace thinpipe::trainer
