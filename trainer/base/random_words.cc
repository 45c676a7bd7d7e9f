// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/random_words.hh"

#include <cmath>
#include <utility>

namespace thinpipe::trainer {

RandomWords::RandomWords(const RandomStream& stream)
    : key_{static_cast<std::uint32_t>(stream.seed), static_cast<std::uint32_t>(stream.seed >> 32U)},
      counter_{stream.step, stream.bucket, stream.rank, 0} {}

std::uint32_t RandomWords::next() {
  if (used_ == block_.size()) {
    block_ = philox(key_, counter_);
    ++counter_[3];
    used_ = 0;
  }
  return block_[used_++];
}

std::uint32_t RandomWords::below(std::uint32_t bound) {
  std::uint64_t product = static_cast<std::uint64_t>(next()) * bound;
  const std::uint32_t uneven = (0U - bound) % bound;  // 2^32 mod bound
  while (static_cast<std::uint32_t>(product) < uneven) product = static_cast<std::uint64_t>(next()) * bound;
  return static_cast<std::uint32_t>(product >> 32U);
}

double RandomWords::uniform() {
  const std::uint64_t high = next() >> 5U;  // 27 bits
  const std::uint64_t low = next() >> 6U;   // 26 bits
  // The half keeps the number from being 0.
  return (static_cast<double>(high << 26U | low) + 0.5) * 0x1p-53;
}

double RandomWords::normal() {
  while (true) {
    const double x = 2 * uniform() - 1;
    const double y = 2 * uniform() - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * std::log(square) / square);
  }
}

void RandomWords::shuffle(std::span<std::int64_t> values) {
  for (std::size_t remaining = values.size(); remaining > 1; --remaining) {
    std::swap(values[remaining - 1], values[below(static_cast<std::uint32_t>(remaining))]);
  }
}

}  // namespace thinpipe::trainer
