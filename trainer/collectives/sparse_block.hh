// SPDX-License-Identifier: Apache-2.0
// Sparse vectors in blocks. A stream of entries is forwarded block by block, and blocks are small so that
// hops overlap. The wire format of a block, little-endian:
//
//   u32      the number of its entries; the highest bit is set if a bitmap follows
//   indices  in the block: u16 each, ascending, or a bit for each element, whichever is shorter
//   float32  values
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

inline constexpr std::size_t sparse_block_elements = std::size_t{1} << 14;
inline constexpr std::size_t sparse_block_words = sparse_block_elements / 64;

// A bit for each element of a block.
using BlockBits = std::span<const std::uint64_t, sparse_block_words>;
using WritableBlockBits = std::span<std::uint64_t, sparse_block_words>;

// Adds the entries of `others` to `bits`.
void unite(WritableBlockBits bits, BlockBits others);

std::size_t entry_count(BlockBits bits);

// Calls visit(index in the block) in ascending order.
void for_each_entry(BlockBits bits, const auto& visit) {
  for (std::size_t word = 0; word < bits.size(); ++word) {
    for (std::uint64_t left = bits[word]; left != 0; left &= left - 1) {
      visit(64 * word + static_cast<std::size_t>(std::countr_zero(left)));
    }
  }
}

// A vector's blocks.
struct Blocks {
  std::size_t elements = 0;  // of the vector

  std::size_t count() const { return (elements + sparse_block_elements - 1) / sparse_block_elements; }
  std::size_t begin_of(std::size_t block) const { return block * sparse_block_elements; }
  // The last block may have fewer.
  std::size_t elements_of(std::size_t block) const {
    return std::min(sparse_block_elements, elements - begin_of(block));
  }
  template <class Element>
  std::span<Element> of(std::span<Element> vector, std::size_t block) const {
    return vector.subspan(begin_of(block), elements_of(block));
  }
};

// Which elements of a vector have an entry.
class EntryMap {
 public:
  explicit EntryMap(Blocks blocks) : words_(blocks.count() * sparse_block_words) {}
  EntryMap(Blocks blocks, std::span<const std::uint32_t> indices) : EntryMap(blocks) {
    for (const std::uint32_t index : indices) words_[index / 64] |= std::uint64_t{1} << index % 64;
  }

  BlockBits of(std::size_t block) const {
    return std::span(words_).subspan(block * sparse_block_words).first<sparse_block_words>();
  }
  WritableBlockBits of(std::size_t block) {
    return std::span(words_).subspan(block * sparse_block_words).first<sparse_block_words>();
  }

 private:
  std::vector<std::uint64_t> words_;
};

inline constexpr std::size_t sparse_block_head_bytes = 4;

// Returns the bytes of a block of `elements` elements with `entries` entries.
std::size_t sparse_block_bytes(std::size_t elements, std::size_t entries);

// Returns the bytes of a block from its message's head. Throws Error if the head is not valid for `elements`
// elements.
std::size_t sparse_block_bytes(std::size_t elements, std::span<const std::byte> message);

// Returns the bytes of all blocks of a vector with entries at `indices`, ascending.
std::size_t sparse_bytes(Blocks blocks, std::span<const std::uint32_t> indices);

// values: of all elements of the block.
void append_sparse_block(BlockBits bits, std::span<const float> values, std::vector<std::byte>& out);

// Reads a message that is as long as its head requires. Sets `bits` and returns the values in ascending order
// of index, at any alignment. Throws Error for indices that are outside the block or do not ascend.
std::span<const std::byte> read_sparse_block(std::span<const std::byte> message, std::size_t elements,
                                             WritableBlockBits bits);

}  // namespace thinpipe::trainer
