// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/entries/sparse_entries.hh"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/sparse/top_k.hh"

namespace thinpipe::trainer {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

std::vector<std::uint8_t> write_entries(std::span<const SparseEntry> entries) {
  std::vector<std::uint8_t> message(entries.size_bytes());
  if (!entries.empty()) std::memcpy(message.data(), entries.data(), entries.size_bytes());
  return message;
}

std::vector<SparseEntry> read_entries(std::span<const std::uint8_t> message, std::int64_t begin,
                                      std::int64_t end) {
  if (std::ssize(message) % sparse_entry_bytes != 0) {
    throw CollectiveError(fmt::format("a message of entries has {} bytes, but an entry takes {}",
                                      std::ssize(message), sparse_entry_bytes));
  }
  std::vector<SparseEntry> entries(static_cast<std::size_t>(std::ssize(message) / sparse_entry_bytes));
  if (!entries.empty()) std::memcpy(entries.data(), message.data(), message.size());
  for (const SparseEntry& entry : entries) {
    if (entry.index < begin || entry.index >= end) {
      throw CollectiveError(
          fmt::format("index {} of a message of entries lies outside [{}, {})", entry.index, begin, end));
    }
  }
  return entries;
}

std::vector<SparseEntry> add_entries(std::span<const SparseEntry> a, std::span<const SparseEntry> b) {
  std::vector<SparseEntry> sum;
  sum.reserve(a.size() + b.size());
  auto right = b.begin();
  for (const SparseEntry& left : a) {
    for (; right != b.end() && right->index < left.index; ++right) sum.push_back(*right);
    sum.push_back(left);
    if (right != b.end() && right->index == left.index) {
      sum.back().value += right->value;
      ++right;
    }
  }
  sum.insert(sum.end(), right, b.end());
  return sum;
}

std::vector<SparseEntry> keep_largest(std::vector<SparseEntry>& entries, std::size_t k) {
  if (entries.size() <= k) return {};
  std::vector<float> values;
  values.reserve(entries.size());
  for (const SparseEntry& entry : entries) values.push_back(entry.value);
  std::vector<SparseEntry> kept;
  std::vector<SparseEntry> others;
  kept.reserve(k);
  others.reserve(entries.size() - k);
  std::size_t next = 0;
  for (const std::uint32_t i : top_k_indices(values, k)) {
    others.insert(others.end(), entries.begin() + static_cast<std::ptrdiff_t>(next), entries.begin() + i);
    kept.push_back(entries[i]);
    next = i + 1;
  }
  others.insert(others.end(), entries.begin() + static_cast<std::ptrdiff_t>(next), entries.end());
  entries = std::move(kept);
  return others;
}

}  // namespace thinpipe::trainer
