// SPDX-License-Identifier: Apache-2.0
// Entries of a sparse vector, their sums, and messages of them with 8 bytes each, little-endian:
//
//   u32 index   f32 value
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

struct SparseEntry {
  std::uint32_t index;
  float value;

  bool operator==(const SparseEntry&) const = default;
};

inline constexpr std::int64_t sparse_entry_bytes = 8;
static_assert(sizeof(SparseEntry) == sparse_entry_bytes);

std::vector<std::uint8_t> write_entries(std::span<const SparseEntry> entries);

// Throws CollectiveError unless the message has whole entries with indices from `begin` to below `end`;
// otherwise the workers have diverged.
std::vector<SparseEntry> read_entries(std::span<const std::uint8_t> message, std::int64_t begin,
                                      std::int64_t end);

// Returns a + b, with ascending indices like theirs. Entries with the same index are added in this order.
std::vector<SparseEntry> add_entries(std::span<const SparseEntry> a, std::span<const SparseEntry> b);

// Reduces entries with ascending indices to the k largest, under the order of top_k_indices(); all if there are
// no more than k. Returns the others.
std::vector<SparseEntry> keep_largest(std::vector<SparseEntry>& entries, std::size_t k);

}  // namespace thinpipe::trainer
