// SPDX-License-Identifier: Apache-2.0
// The code of a chunk's largest entries: their indices, and for each value either a float32 or two bits, a sign and the
// choice between two magnitudes. These are float32 before the entries. Values whose magnitude is above the mean magnitude
// of all of them become the mean of such values, and the others the mean of the rest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "trainer/synchronisers/sparse/bit_stream.hh"

namespace thinpipe::trainer {

class ChunkCode {
 public:
  // entries: of a chunk, 1 to 65,536. most: of the largest ones, at least 1; a chunk may have fewer.
  ChunkCode(std::int64_t entries, std::int64_t most, bool two_bits)
      : entries_(entries), count_(std::min(most, entries)), two_bits_(two_bits) {}

  std::int64_t entries() const { return entries_; }

  // Returns the bits that a chunk takes.
  std::int64_t bits() const { return (two_bits_ ? 64 : 0) + count_ * (index_bits() + (two_bits_ ? 2 : 32)); }

  // Appends the code of the largest entries of `chunk`. If one is not finite, at least one of its values decodes to a
  // value that is not finite either.
  void append(std::span<const float> chunk, BitWriter& out) const;

  // Reads what append() wrote and adds its values to `chunk`. Throws CollectiveError if the bits end too early or an index
  // is not in the chunk.
  void add(BitReader& in, std::span<float> chunk) const;

 private:
  int index_bits() const {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(entries_ - 1)));
  }

  std::int64_t entries_;
  std::int64_t count_;
  bool two_bits_;
};

}  // namespace thinpipe::trainer
