// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/nonzero_blocks.hh"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/sparse/index_code.hh"

namespace thinpipe::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

const IndexCode& block_bitmap() {
  static const std::unique_ptr<IndexCode> bitmap = make_index_code("bitmap");
  return *bitmap;
}

constexpr std::int64_t block_count(std::int64_t n, std::int64_t block_size) {
  return (n + block_size - 1) / block_size;
}

template <class Value>
std::span<Value> block_at(std::span<Value> vector, std::uint32_t index, std::int64_t block_size) {
  const std::size_t begin = std::size_t{index} * static_cast<std::size_t>(block_size);
  return vector.subspan(begin, std::min(static_cast<std::size_t>(block_size), vector.size() - begin));
}

// Compares bits, without the sign: an OR of integers is associative, so the compiler may vectorise it.
bool is_zero_block(std::span<const float> block) {
  std::uint32_t bits = 0;
  for (const float value : block) bits |= std::bit_cast<std::uint32_t>(value) << 1U;
  return bits == 0;
}

// Returns the indices of the non-zero blocks, ascending. Branch-free, because zero blocks are unpredictable.
std::vector<std::uint32_t> nonzero_block_indices(std::span<const float> vector, std::int64_t block_size) {
  const auto blocks = static_cast<std::uint32_t>(block_count(std::ssize(vector), block_size));
  std::vector<std::uint32_t> indices(std::size_t{blocks} + 1);  // each is written after the last one kept
  std::uint32_t* next = indices.data();
  for (std::uint32_t index = 0; index < blocks; ++index) {
    *next = index;
    next += is_zero_block(block_at(vector, index, block_size)) ? 0 : 1;
  }
  indices.resize(static_cast<std::size_t>(next - indices.data()));
  return indices;
}

// Returns the number of values in the given blocks. Only the last block can be shorter, and it comes last.
std::int64_t values_at(std::span<const std::uint32_t> indices, std::span<const float> vector,
                       std::int64_t block_size) {
  if (indices.empty()) return 0;
  return (std::ssize(indices) - 1) * block_size + std::ssize(block_at(vector, indices.back(), block_size));
}

}  // namespace

std::int64_t nonzero_blocks_bytes(std::int64_t n, std::int64_t block_size, std::int64_t values) {
  return block_bitmap().bytes(block_count(n, block_size), 0) + 4 * values;
}

std::vector<std::uint8_t> write_nonzero_blocks(std::span<const float> vector, std::int64_t block_size) {
  const std::int64_t n = std::ssize(vector);
  const std::vector<std::uint32_t> indices = nonzero_block_indices(vector, block_size);
  const std::int64_t values = values_at(indices, vector, block_size);
  const auto bytes = static_cast<std::size_t>(nonzero_blocks_bytes(n, block_size, values));
  std::vector<std::uint8_t> message;
  message.reserve(bytes);
  block_bitmap().append(indices, static_cast<std::uint32_t>(block_count(n, block_size)), message);
  const std::size_t bitmap_bytes = message.size();
  message.resize(bytes);
  std::uint8_t* next = message.data() + bitmap_bytes;
  for (const std::uint32_t index : indices) {
    for (const float value : block_at(vector, index, block_size)) {
      std::memcpy(next, &value, sizeof value);
      next += sizeof value;
    }
  }
  return message;
}

void add_nonzero_blocks(std::span<const std::uint8_t> message, std::int64_t block_size,
                        std::span<float> vector) {
  const std::int64_t n = std::ssize(vector);
  const std::int64_t bitmap_bytes = nonzero_blocks_bytes(n, block_size, 0);
  const std::int64_t values = std::max<std::int64_t>(0, std::ssize(message) - bitmap_bytes) / 4;
  const auto count = static_cast<std::uint32_t>(block_count(values, block_size));
  std::vector<std::uint32_t> indices;
  block_bitmap().read(message, static_cast<std::uint32_t>(block_count(n, block_size)), count, indices);

  const std::int64_t announced = values_at(indices, std::span<const float>(vector), block_size);
  if (std::ssize(message) != nonzero_blocks_bytes(n, block_size, announced)) {
    throw CollectiveError(
        fmt::format("a message of non-zero blocks has {} bytes for a bitmap of {} and {} values",
                    message.size(), bitmap_bytes, announced));
  }
  const std::uint8_t* next = message.data() + bitmap_bytes;
  for (const std::uint32_t index : indices) {
    for (float& sum : block_at(vector, index, block_size)) {
      float value = 0;
      std::memcpy(&value, next, sizeof value);
      sum += value;
      next += sizeof value;
    }
  }
}

}  // namespace thinpipe::trainer
