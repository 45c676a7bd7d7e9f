// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/index_vote.hh"

#include <algorithm>
#include <utility>

#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {

IndexVote::IndexVote(std::int64_t n, std::int64_t count)
    : n_(n), count_(count), code_(make_index_code("golomb")) {
  std::unique_ptr<IndexCode> bitmap = make_index_code("bitmap");
  if (bitmap->bytes(n, count) <= bytes()) code_ = std::move(bitmap);
}

std::vector<std::uint32_t> IndexVote::broadcast(const std::vector<std::uint32_t>& own, int voter,
                                                Collective& network) const {
  const auto n = static_cast<std::uint32_t>(n_);
  const torch::Tensor vote = torch::zeros({bytes()}, torch::kByte);
  if (voter == network.rank()) {
    std::vector<std::uint8_t> code;
    code_->append(own, n, code);
    std::ranges::copy(code, elements<std::uint8_t>(vote).begin());
  }
  network.broadcast(vote, voter);
  std::vector<std::uint32_t> indices;
  code_->read(elements<std::uint8_t>(vote), n, static_cast<std::uint32_t>(count_), indices);
  return indices;
}

std::int64_t broadcast_count(std::int64_t own, int voter, Collective& network) {
  const torch::Tensor count = torch::full({1}, own, torch::kInt32);
  network.broadcast(count, voter);
  return count.item<std::int32_t>();
}

}  // namespace thinpipe::trainer
