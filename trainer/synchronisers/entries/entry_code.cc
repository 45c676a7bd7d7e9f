// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/entries/entry_code.hh"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "trainer/collectives/collective_error.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::uint8_t padding_byte = 0xff;
constexpr std::uint32_t padding_index = 0xffffffff;
constexpr std::size_t count_bytes = sizeof(std::uint32_t);

void append_bytes(const void* from, std::size_t bytes, std::vector<std::uint8_t>& out) {
  const auto* const begin = static_cast<const std::uint8_t*>(from);
  out.insert(out.end(), begin, begin + bytes);
}

// Returns the message without the padding after its last whole entry.
std::span<const std::uint8_t> without_padding(std::span<const std::uint8_t> message) {
  while (message.size() >= sparse_entry_bytes) {
    std::uint32_t index = 0;
    std::memcpy(&index, message.last<sparse_entry_bytes>().data(), sizeof index);
    if (index != padding_index) break;
    message = message.first(message.size() - sparse_entry_bytes);
  }
  return message;
}

[[noreturn]] void fail_short(std::size_t bytes) {
  throw CollectiveError(fmt::format("a message of entries ends after {} bytes", bytes));
}

}  // namespace

EntryCode::EntryCode(const std::string& indices)
    : short_indices_(indices == "u32" ? nullptr : make_index_code(indices)) {}

std::int64_t EntryCode::entry_bytes() const {
  return short_indices_ ? static_cast<std::int64_t>(sizeof(std::uint16_t) + sizeof(float))
                        : sparse_entry_bytes;
}

std::int64_t EntryCode::bytes(std::int64_t elements, std::int64_t count) const {
  if (!short_indices_) return sparse_entry_bytes * count;
  const auto values = static_cast<std::int64_t>(sizeof(float)) * count;
  return static_cast<std::int64_t>(count_bytes) + short_indices_->bytes(elements, count) + values;
}

void EntryCode::append(std::span<const SparseEntry> entries, const IndexRange& range,
                       std::vector<std::uint8_t>& out, std::int64_t padded_bytes) const {
  const std::size_t begin = out.size();
  if (!short_indices_) {
    append_bytes(entries.data(), entries.size_bytes(), out);
  } else {
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
    for (const SparseEntry& entry : entries) {
      indices.push_back(entry.index - static_cast<std::uint32_t>(range.begin));
      values.push_back(entry.value);
    }
    const auto count = static_cast<std::uint32_t>(entries.size());
    append_bytes(&count, sizeof count, out);
    short_indices_->append(indices, static_cast<std::uint32_t>(range.size()), out);
    append_bytes(values.data(), sizeof(float) * values.size(), out);
  }
  out.resize(std::max(out.size(), begin + static_cast<std::size_t>(padded_bytes)), padding_byte);
}

std::vector<SparseEntry> EntryCode::read(std::span<const std::uint8_t> message,
                                         const IndexRange& range) const {
  if (!short_indices_) return read_entries(without_padding(message), range.begin, range.end);
  if (message.size() < count_bytes) fail_short(message.size());
  std::uint32_t count = 0;
  std::memcpy(&count, message.data(), sizeof count);
  if (count > range.size()) {
    throw CollectiveError(fmt::format("a message has {} entries of the {} in [{}, {})", count, range.size(),
                                      range.begin, range.end));
  }
  std::vector<std::uint32_t> indices;
  const std::span<const std::uint8_t> rest = message.subspan(count_bytes);
  const std::size_t index_bytes =
      short_indices_->read(rest, static_cast<std::uint32_t>(range.size()), count, indices);
  const std::span<const std::uint8_t> values = rest.subspan(index_bytes);
  if (values.size() < sizeof(float) * count) fail_short(message.size());
  std::vector<SparseEntry> entries(count);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].index = static_cast<std::uint32_t>(range.begin) + indices[i];
    std::memcpy(&entries[i].value, values.data() + i * sizeof(float), sizeof(float));
  }
  return entries;
}

}  // namespace thinpipe::trainer
