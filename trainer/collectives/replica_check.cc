// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/replica_check.hh"

#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {
namespace {

// Returns the hash of each rank.
std::vector<std::uint64_t> gather_hashes(std::uint64_t hash, Collective& collective) {
  const torch::Tensor own = torch::tensor({std::bit_cast<std::int64_t>(hash)}, torch::kLong);
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(collective.world_size()), 1);
  const torch::Tensor all = collective.all_gather_v(own, counts);
  std::vector<std::uint64_t> hashes;
  for (std::int64_t rank = 0; rank < all.numel(); ++rank) {
    hashes.push_back(std::bit_cast<std::uint64_t>(all.data_ptr<std::int64_t>()[rank]));
  }
  return hashes;
}

std::vector<std::size_t> ranks_unlike_0(const std::vector<std::uint64_t>& hashes) {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0]) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

std::uint64_t tensor_hash(const torch::Tensor& tensor) {
  const torch::Tensor contiguous = tensor.detach().cpu().contiguous();
  return XXH3_64bits(contiguous.data_ptr(), contiguous.nbytes());
}

std::uint64_t parameters_hash(const torch::nn::Module& model) {
  std::string text;
  for (const auto& item : model.named_parameters()) {
    text += fmt::format("{} {} {:016x}\n", item.key(), fmt::join(item.value().sizes(), "x"),
                        tensor_hash(item.value()));
  }
  return XXH3_64bits(text.data(), text.size());
}

void check_replicas(std::string_view what, std::uint64_t hash, Collective& collective) {
  const auto ranks = ranks_unlike_0(gather_hashes(hash, collective));
  if (!ranks.empty()) {
    throw DivergenceError(
        fmt::format("the {} of rank {} differs from rank 0's", what, fmt::join(ranks, ", ")));
  }
}

void check_parameter_replicas(const torch::nn::Module& model, Collective& collective) {
  if (ranks_unlike_0(gather_hashes(parameters_hash(model), collective)).empty()) return;
  for (const auto& item : model.named_parameters()) {
    check_replicas(fmt::format("parameter {}", item.key()), tensor_hash(item.value()), collective);
  }
  throw DivergenceError("the workers' parameters differ in name or shape");
}

}  // namespace thinpipe::trainer
