#include "trainer/synchronisers/sparse/sparse_entries.hh"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

torch::Tensor write_entries(std::span<const SparseEntry> entries) {
  torch::Tensor message = torch::empty({sparse_entry_bytes * std::ssize(entries)}, torch::kByte);
  if (!entries.empty()) std::memcpy(message.data_ptr(), entries.data(), entries.size_bytes());
  return message;
}

std::vector<SparseEntry> read_entries(const torch::Tensor& message, std::int64_t begin, std::int64_t end) {
  if (message.numel() % sparse_entry_bytes != 0) {
    throw CollectiveError(fmt::format("a message of entries has {} bytes, but an entry takes {}",
                                      message.numel(), sparse_entry_bytes));
  }
  std::vector<SparseEntry> entries(static_cast<std::size_t>(message.numel() / sparse_entry_bytes));
  if (!entries.empty()) std::memcpy(entries.data(), message.data_ptr(), message.nbytes());
  for (const SparseEntry& entry : entries) {
    if (entry.index < begin || entry.index >= end) {
      throw CollectiveError(
          fmt::format("index {} of a message of entries lies outside [{}, {})", entry.index, begin, end));
    }
  }
  return entries;
}

}  // namespace thinpipe::trainer
