// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/entries/hashed_owners.hh"

#include <numeric>

#include "trainer/base/philox.hh"

namespace thinpipe::trainer {

// The hash of index i is word i of a stream that all workers share. Step 0 avoids other draws, because steps
// count from 1.
HashedOwners::HashedOwners(std::int64_t n, int world_size, std::uint64_t seed)
    : entries_(static_cast<std::size_t>(n)), begins_(static_cast<std::size_t>(world_size) + 1) {
  std::vector<std::uint32_t> owners(entries_.size());
  fill_words({.seed = seed, .step = 0, .bucket = 0, .rank = shared_rank}, owners);
  for (std::uint32_t& owner : owners) {
    owner %= static_cast<std::uint32_t>(world_size);
    ++begins_[owner + 1];
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  std::vector<std::size_t> next = begins_;
  for (std::size_t i = 0; i < owners.size(); ++i) entries_[next[owners[i]]++] = static_cast<std::uint32_t>(i);
}

std::span<const std::uint32_t> HashedOwners::of(int owner) const {
  const auto s = static_cast<std::size_t>(owner);
  return std::span(entries_).subspan(begins_[s], begins_[s + 1] - begins_[s]);
}

}  // namespace thinpipe::trainer
