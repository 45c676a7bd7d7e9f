// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, a counter-based random number generator. The word at a counter depends on key and counter
// alone, so that results are the same for every thread count, machine and order of use. Salmon, Moraes, Dror,
// Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace thinpipe::trainer {

using PhiloxKey = std::array<std::uint32_t, 2>;
using PhiloxBlock = std::array<std::uint32_t, 4>;

// Runs the ten rounds: returns four random words for a counter under a key.
PhiloxBlock philox(PhiloxKey key, PhiloxBlock counter);

// The rank of streams from which all workers draw the same numbers.
constexpr std::uint32_t shared_rank = 0xFFFFFFFF;

// Values of RandomStream::bucket that no bucket has, for draws with other purposes.
enum class Purpose : std::uint32_t {
  batch_order = 0xFFFFFFFF,
  synthetic_prototypes = 0xFFFFFFFE,
  synthetic_noise = 0xFFFFFFFD,
  augmentation = 0xFFFFFFFC,    // the stream's rank is the example's index
  random_pruning = 0xFFFFFFFB,  // the stream's step is the layer's index
  dropout = 0xFFFFFFFA,         // the words seed the generator that dropout draws from
  partition = 0xFFFFFFF9,       // the stream's step is the number of the attempt
};

// One sequence of random words. The key is the seed; the counter is (step, bucket, rank, lane), and lane l
// yields the words 4l to 4l + 3. Streams that differ in any member are independent.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  std::uint32_t bucket = 0;
  std::uint32_t rank = shared_rank;
};

// Fills `out` with the stream's words from word 0 on. At most 2^34 words: the lane has 32 bits.
void fill_words(const RandomStream& stream, std::span<std::uint32_t> out);

// Fills `out` with numbers uniform on [0, 1), multiples of 2^-24: the upper 24 bits of the stream's words,
// starting at `lane`.
void fill_uniform(const RandomStream& stream, std::span<float> out, std::uint32_t lane = 0);

}  // namespace thinpipe::trainer
