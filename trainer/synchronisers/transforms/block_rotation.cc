#include "trainer/synchronisers/block_rotation.hh"

#include <algorithm>
#include <bit>

#include "trainer/synchronisers/walsh_hadamard.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::size_t signs_per_word = 32;

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
  std::vector<float> rotated(values.begin(), values.end());
  rotated.resize(blocks_.empty() ? 0 : blocks_.back().begin + blocks_.back().padded);
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
  for (std::size_t begin = 0; begin < rotated.size(); begin += signs_per_word) {
    const std::uint32_t word = signs_[begin / signs_per_word];
    const std::size_t count = std::min(signs_per_word, rotated.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t sign = (word << (signs_per_word - 1 - i)) & 0x80000000U;
      rotated[begin + i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(rotated[begin + i]) ^ sign);
    }
  }
}

void BlockRotation::transform(std::span<float> rotated) const {
  for (const Block& block : blocks_) walsh_hadamard(rotated.subspan(block.begin, block.padded));
}

}  // namespace thinpipe::trainer
