#include "trainer/synchronisers/sparse/sparse_entries.hh"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "trainer/collectives/collective_error.hh"

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

}  // namespace thinpipe::trainer
