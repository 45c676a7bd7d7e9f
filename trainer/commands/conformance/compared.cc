#include "trainer/commands/conformance/compared.hh"

#include <vector>

#include <fmt/format.h>

namespace thinpipe::trainer {
namespace {

std::vector<std::int64_t> one_each(const Collective& network) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(network.world_size()), 1);
}

std::vector<std::int64_t> gather_number(Collective& network, std::int64_t number) {
  const torch::Tensor all = network.all_gather_v(torch::full({1}, number, torch::kInt64), one_each(network));
  return {all.data_ptr<std::int64_t>(), all.data_ptr<std::int64_t>() + all.numel()};
}

}  // namespace

std::string difference_between_workers(Collective& network, const torch::Tensor& result) {
  const int workers = network.world_size();
  const std::vector<std::int64_t> sizes = gather_number(network, result.numel());
  for (int rank = 1; rank < workers; ++rank) {
    if (sizes[rank] != sizes[0])
      return fmt::format("worker {} has {} entries, but worker 0 has {}", rank, sizes[rank], sizes[0]);
  }
  // Bits, so that NaN equals itself.
  const torch::Tensor bits = result.contiguous().view(torch::kInt32);
  torch::Tensor first = bits.clone();
  network.broadcast(first, 0);
  const torch::Tensor differs = bits.ne(first).nonzero();
  const std::int64_t place = differs.numel() == 0 ? -1 : differs[0].item<std::int64_t>();
  const std::vector<std::int64_t> places = gather_number(network, place);
  for (int rank = 1; rank < workers; ++rank) {
    if (places[rank] < 0) continue;
    torch::Tensor value = result.narrow(0, places[rank], 1).clone();
    network.broadcast(value, rank);
    torch::Tensor expected = first.narrow(0, places[rank], 1).clone().view(torch::kFloat);
    return fmt::format("worker {} has {:.9g} at entry {}, but worker 0 has {:.9g}", rank, value.item<float>(),
                       places[rank], expected.item<float>());
  }
  return "";
}

}  // namespace thinpipe::trainer
