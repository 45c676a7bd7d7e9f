#include "trainer/synchronisers/top_k.hh"

#include <array>
#include <bit>

namespace thinpipe::trainer {
namespace {

// For finite floats the bits below the sign order like the magnitude; NaN lies above infinity.
std::uint32_t magnitude(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
}

struct Threshold {
  std::uint32_t magnitude = 0;  // of the k-th largest entry
  std::size_t ties = 0;         // how many entries of exactly this magnitude belong to the k
};

// The digits of the threshold from the top: 11 + 10 + 10 bits make the 31 of a magnitude.
Threshold kth_largest(std::span<const float> values, std::size_t k) {
  struct Digit {
    int shift;
    std::uint32_t mask;
  };
  constexpr std::array<Digit, 3> kDigits = {{{20, 0x7ff}, {10, 0x3ff}, {0, 0x3ff}}};
  std::uint32_t prefix = 0;
  std::uint32_t prefix_mask = 0;
  std::size_t wanted = k;
  for (const auto& [shift, mask] : kDigits) {
    std::array<std::size_t, 2048> count{};
    for (const float value : values) {
      const std::uint32_t bits = magnitude(value);
      if ((bits & prefix_mask) == prefix) ++count[(bits >> shift) & mask];
    }
    std::uint32_t digit = mask;
    while (count[digit] < wanted) wanted -= count[digit--];
    prefix |= digit << shift;
    prefix_mask |= mask << shift;
  }
  return {prefix, wanted};
}

}  // namespace

std::vector<std::uint32_t> top_k_indices(std::span<const float> values, std::size_t k) {
  std::vector<std::uint32_t> indices;
  if (k == 0) return indices;
  indices.reserve(k);
  auto [threshold, ties] = kth_largest(values, k);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = magnitude(values[i]);
    if (bits > threshold) {
      indices.push_back(static_cast<std::uint32_t>(i));
    } else if (bits == threshold && ties > 0) {
      indices.push_back(static_cast<std::uint32_t>(i));
      --ties;
    }
  }
  return indices;
}

}  // namespace thinpipe::trainer
