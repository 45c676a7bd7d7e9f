// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/transforms/block_rotation.hh"

#include <algorithm>
#include <array>
#include <bit>

#include "trainer/synchronisers/transforms/walsh_hadamard.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::size_t signs_per_word = 32;

// One bit of a word each, so that a vector instruction can test several at once.
constexpr std::array<std::uint32_t, signs_per_word> bits_of_word = [] {
  std::array<std::uint32_t, signs_per_word> bits{};
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = 1U << i;
  return bits;
}();

// values: one word of signs or, at the end, fewer.
void flip_signs(std::uint32_t word, const auto& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t sign = (word & bits_of_word[i]) != 0 ? 0x80000000U : 0U;
    values[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[i]) ^ sign);
  }
}

}  // namespace

BlockRotation::BlockRotation(std::int64_t n, std::int64_t block_size, const RandomStream& stream)
    : signs_((static_cast<std::size_t>(padded_size(n, block_size)) + signs_per_word - 1) / signs_per_word) {
  const auto size = static_cast<std::size_t>(block_size);
  const auto all = static_cast<std::size_t>(n);
  for (std::size_t begin = 0; begin < all; begin += size) {
    const std::size_t entries = std::min(size, all - begin);
    blocks_.push_back({.begin = begin, .padded = std::bit_ceil(entries), .entries = entries});
  }
  fill_words(stream, signs_);
}

std::int64_t BlockRotation::padded_size(std::int64_t n, std::int64_t block_size) {
  const std::int64_t rest = n % block_size;
  if (rest == 0) return n;
  return n - rest + static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rest)));
}

std::vector<float> BlockRotation::rotate(std::span<const float> values) const {
  const std::size_t size = blocks_.empty() ? 0 : blocks_.back().begin + blocks_.back().padded;
  std::vector<float> rotated;
  rotated.reserve(size);
  rotated.assign(values.begin(), values.end());
  rotated.resize(size);
  flip(rotated);
  transform(rotated);
  return rotated;
}

void BlockRotation::rotate_back(std::span<float> rotated, std::span<float> values) const {
  transform(rotated);
  flip(rotated);
  // Only the last block is padded.
  std::ranges::copy(rotated.first(values.size()), values.begin());
}

void BlockRotation::flip(std::span<float> rotated) const {
  const std::size_t whole = rotated.size() / signs_per_word;
  for (std::size_t w = 0; w < whole; ++w) {
    flip_signs(signs_[w], rotated.subspan(w * signs_per_word).first<signs_per_word>());
  }
  if (whole < signs_.size()) flip_signs(signs_[whole], rotated.subspan(whole * signs_per_word));
}

void BlockRotation::transform(std::span<float> rotated) const {
  for (const Block& block : blocks_) walsh_hadamard(rotated.subspan(block.begin, block.padded));
}

}  // namespace thinpipe::trainer
