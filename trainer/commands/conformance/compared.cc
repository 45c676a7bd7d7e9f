// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/conformance/compared.hh"

#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

namespace thinpipe::trainer {
namespace {

// Returns every worker's numbers, int64 [workers, numbers.size()].
torch::Tensor gather(Collective& network, const std::vector<std::int64_t>& numbers) {
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(network.world_size()), std::ssize(numbers));
  return network.all_gather_v(torch::tensor(numbers, torch::kInt64), counts).view({network.world_size(), -1});
}

std::int64_t hash_of(const torch::Tensor& bits) {
  return static_cast<std::int64_t>(
      XXH3_64bits(bits.data_ptr(), static_cast<std::size_t>(bits.numel()) * bits.element_size()));
}

}  // namespace

std::string difference_between_workers(Collective& network, const torch::Tensor& result) {
  // Bits, so that NaN equals itself.
  const torch::Tensor bits = result.contiguous().view(torch::kInt32);
  const torch::Tensor summaries = gather(network, {bits.numel(), hash_of(bits)});
  if (summaries.eq(summaries[0]).all().item<bool>()) return "";
  const int workers = network.world_size();
  for (int rank = 1; rank < workers; ++rank) {
    const auto size = summaries[rank][0].item<std::int64_t>();
    const auto expected = summaries[0][0].item<std::int64_t>();
    if (size != expected)
      return fmt::format("worker {}'s result has length {}, but worker 0's has {}", rank, size, expected);
  }
  torch::Tensor first = bits.clone();
  network.broadcast(first, 0);
  const torch::Tensor differs = bits.ne(first).nonzero();
  const std::int64_t place = differs.numel() == 0 ? -1 : differs[0].item<std::int64_t>();
  const torch::Tensor places = gather(network, {place});
  for (int rank = 1; rank < workers; ++rank) {
    const auto at = places[rank][0].item<std::int64_t>();
    if (at < 0) continue;
    torch::Tensor value = result.narrow(0, at, 1).clone();
    network.broadcast(value, rank);
    torch::Tensor expected = first.narrow(0, at, 1).clone().view(torch::kFloat);
    return fmt::format("worker {} has {:.9g} at entry {}, but worker 0 has {:.9g}", rank, value.item<float>(),
                       at, expected.item<float>());
  }
  return "";
}

}  // namespace thinpipe::trainer
