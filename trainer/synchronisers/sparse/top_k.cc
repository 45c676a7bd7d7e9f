// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/top_k.hh"

#include <array>
#include <bit>

namespace thinpipe::trainer {
namespace {

// For finite floats the bits below the sign order like the magnitude; NaN is above infinity.
std::uint32_t magnitude(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
}

// The digits of a magnitude from the top: 11 + 10 + 10 of its 31 bits.
struct Digit {
  int shift;
  std::uint32_t mask;
};
constexpr std::array<Digit, 3> magnitude_digits = {{{20, 0x7ff}, {10, 0x3ff}, {0, 0x3ff}}};
using DigitCounts = std::array<std::uint32_t, 2048>;

// Returns the digit of the `wanted`-th largest, and sets `wanted` to its rank among those with the same
// digit.
std::uint32_t digit_of(const DigitCounts& counts, std::uint32_t largest, std::size_t& wanted) {
  std::uint32_t digit = largest;
  while (counts[digit] < wanted) wanted -= counts[digit--];
  return digit;
}

struct Threshold {
  std::uint32_t magnitude = 0;  // of the k-th largest entry
  std::size_t ties = 0;         // number of the k entries that have exactly this magnitude
};

// magnitude_of(i): the magnitude of entry i of n.
Threshold kth_largest(std::size_t n, std::size_t k, const auto& magnitude_of) {
  Threshold threshold{.magnitude = 0, .ties = k};
  std::uint32_t known = 0;  // the bits of the digits found so far
  for (const auto& [shift, mask] : magnitude_digits) {
    DigitCounts counts{};
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t bits = magnitude_of(i);
      if ((bits & known) == threshold.magnitude) ++counts[(bits >> shift) & mask];
    }
    threshold.magnitude |= digit_of(counts, mask, threshold.ties) << shift;
    known |= mask << shift;
  }
  return threshold;
}

// Branch-free, because which entries are taken is unpredictable.
std::vector<std::uint32_t> select_largest(std::size_t n, std::size_t k, const auto& magnitude_of) {
  auto [threshold, ties] = kth_largest(n, k, magnitude_of);
  std::vector<std::uint32_t> indices(k + 1);  // every entry is written after the last one kept
  std::uint32_t* next = indices.data();
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t bits = magnitude_of(i);
    const bool is_tie = bits == threshold && ties > 0;
    ties -= is_tie ? 1 : 0;
    *next = static_cast<std::uint32_t>(i);
    next += bits > threshold || is_tie ? 1 : 0;
  }
  indices.resize(k);
  return indices;
}

// If more than one in this many entries is a candidate, listing candidates costs more memory than it saves
// time. This happens if most entries are zero.
constexpr std::size_t entries_per_candidate = 4;

struct Candidate {
  std::uint32_t magnitude;
  std::uint32_t index;
};

// Returns the `count` entries of at least magnitude `least`, ascending by index.
std::vector<Candidate> candidates_from(std::span<const float> values, std::uint32_t least,
                                       std::size_t count) {
  std::vector<Candidate> candidates(count + 1);
  Candidate* next = candidates.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = magnitude(values[i]);
    *next = {bits, static_cast<std::uint32_t>(i)};
    next += bits >= least ? 1 : 0;
  }
  candidates.resize(count);
  return candidates;
}

}  // namespace

std::vector<std::uint32_t> top_k_indices(std::span<const float> values, std::size_t k) {
  if (k == 0) return {};
  const auto select_among_all = [&] {
    return select_largest(values.size(), k, [values](std::size_t i) { return magnitude(values[i]); });
  };
  if (k > values.size() / entries_per_candidate) return select_among_all();
  DigitCounts counts{};
  for (const float value : values) ++counts[magnitude(value) >> magnitude_digits.front().shift];
  std::size_t rank_in_digit = k;
  const std::uint32_t digit = digit_of(counts, magnitude_digits.front().mask, rank_in_digit);
  const std::size_t count = k - rank_in_digit + counts[digit];
  if (count > values.size() / entries_per_candidate) return select_among_all();
  const auto candidates = candidates_from(values, digit << magnitude_digits.front().shift, count);
  auto indices = select_largest(candidates.size(), k, [&](std::size_t i) { return candidates[i].magnitude; });
  for (std::uint32_t& index : indices) index = candidates[index].index;
  return indices;
}

}  // namespace thinpipe::trainer
