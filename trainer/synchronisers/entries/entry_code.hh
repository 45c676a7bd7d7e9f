// SPDX-License-Identifier: Apache-2.0
// Messages of entries that all lie in a range of a vector, which sender and receiver know. Little-endian:
//
//   u32   for each entry: u32 index, f32 value
//   u16   u32 number of entries; their indices less the range's begin, 2 bytes each in blocks of 65536 (IndexCode);
//         f32 values
//
// A message can be padded to a known size with bytes of ones.
#pragma once

#include <memory>
#include <string>

#include "trainer/synchronisers/entries/sparse_entries.hh"
#include "trainer/synchronisers/sparse/index_code.hh"

namespace thinpipe::trainer {

struct IndexRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};

class EntryCode {
 public:
  // indices: one of options().
  explicit EntryCode(const std::string& indices);
  static std::vector<std::string> options() { return {"u32", "u16"}; }

  // Returns the bytes of each entry.
  std::int64_t entry_bytes() const;
  // Returns the bytes of `count` entries in a range of `elements`.
  std::int64_t bytes(std::int64_t elements, std::int64_t count) const;

  // Appends entries, ascending and in the range, and pads them to `padded_bytes`.
  void append(std::span<const SparseEntry> entries, const IndexRange& range, std::vector<std::uint8_t>& out,
              std::int64_t padded_bytes = 0) const;

  // Reads a message, padding included. Throws CollectiveError unless it has such entries in the range; otherwise the
  // workers have diverged.
  std::vector<SparseEntry> read(std::span<const std::uint8_t> message, const IndexRange& range) const;

 private:
  std::unique_ptr<IndexCode> short_indices_;  // null with u32
};

}  // namespace thinpipe::trainer
