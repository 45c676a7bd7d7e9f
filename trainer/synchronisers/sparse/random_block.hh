// SPDX-License-Identifier: Apache-2.0
// A block of a tensor's entries at a random place, for sparsifiers whose workers all keep the same entries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "trainer/base/random_words.hh"

namespace thinpipe::trainer {

// Successive entries of a vector.
struct EntryRange {
  std::int64_t begin = 0;
  std::int64_t size = 0;

  bool operator==(const EntryRange&) const = default;
};

// Returns `count` of n entries, 0 < count <= n < 2^32, from a random one on: one range, or two if the block
// reaches the last entry and continues with the first. Every start is equally likely, so each entry is kept
// with probability count/n.
inline std::vector<EntryRange> random_block(const RandomStream& stream, std::int64_t n, std::int64_t count) {
  const auto begin = static_cast<std::int64_t>(RandomWords(stream).below(static_cast<std::uint32_t>(n)));
  const std::int64_t first = std::min(count, n - begin);
  std::vector<EntryRange> block = {{.begin = begin, .size = first}};
  if (first < count) block.push_back({.begin = 0, .size = count - first});
  return block;
}

}  // namespace thinpipe::trainer
