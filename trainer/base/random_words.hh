// SPDX-License-Identifier: Apache-2.0
// Draws from one random stream, one after the other.
#pragma once

#include "trainer/base/philox.hh"

namespace thinpipe::trainer {

class RandomWords {
 public:
  explicit RandomWords(const RandomStream& stream);

  std::uint32_t next();

  // Returns a number uniform on 0..bound-1. bound > 0. Lemire: Fast Random Integer Generation in an Interval
  // (2019).
  std::uint32_t below(std::uint32_t bound);

  // Returns a number uniform on (0, 1), with 53 random bits.
  double uniform();

  // Returns a draw from N(0, 1), by Marsaglia's polar method.
  double normal();

  // Permutes `values`: Fisher-Yates.
  void shuffle(std::span<std::int64_t> values);

 private:
  PhiloxKey key_;
  PhiloxBlock counter_;
  PhiloxBlock block_{};
  std::size_t used_ = 4;  // words of block_ already returned
};

}  // namespace thinpipe::trainer
