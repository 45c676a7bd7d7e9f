// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/philox.hh"

#include <algorithm>

namespace thinpipe::trainer {
namespace {

constexpr int rounds = 10;
constexpr std::uint64_t multiplier_0 = 0xD2511F53;
constexpr std::uint64_t multiplier_1 = 0xCD9E8D57;
constexpr std::uint32_t weyl_0 = 0x9E3779B9;  // golden ratio
constexpr std::uint32_t weyl_1 = 0xBB67AE85;  // sqrt(3) - 1

}  // namespace

PhiloxBlock philox(PhiloxKey key, PhiloxBlock counter) {
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t product_0 = multiplier_0 * counter[0];
    const std::uint64_t product_1 = multiplier_1 * counter[2];
    counter = {static_cast<std::uint32_t>(product_1 >> 32U) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product_1),
               static_cast<std::uint32_t>(product_0 >> 32U) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product_0)};
    key[0] += weyl_0;
    key[1] += weyl_1;
  }
  return counter;
}

namespace {

// Calls take(first, words) for each lane from `lane` on. first: index in the result of the lane's first word;
// words: the lane's words, cut to the remaining length.
template <class Take>
void for_each_lane(const RandomStream& stream, std::uint32_t lane, std::size_t count, Take take) {
  const PhiloxKey key{static_cast<std::uint32_t>(stream.seed),
                      static_cast<std::uint32_t>(stream.seed >> 32U)};
  for (std::size_t first = 0; first < count; first += 4) {
    const PhiloxBlock words =
        philox(key, {stream.step, stream.bucket, stream.rank, lane + static_cast<std::uint32_t>(first / 4)});
    take(first, std::span(words).first(std::min<std::size_t>(words.size(), count - first)));
  }
}

}  // namespace

void fill_words(const RandomStream& stream, std::span<std::uint32_t> out) {
  for_each_lane(stream, 0, out.size(), [out](std::size_t first, std::span<const std::uint32_t> words) {
    std::copy(words.begin(), words.end(), out.begin() + static_cast<std::ptrdiff_t>(first));
  });
}

void fill_uniform(const RandomStream& stream, std::span<float> out, std::uint32_t lane) {
  for_each_lane(stream, lane, out.size(), [out](std::size_t first, std::span<const std::uint32_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      // 24 bits fit a signed int, whose conversion is faster than an unsigned one's.
      out[first + i] = static_cast<float>(static_cast<std::int32_t>(words[i] >> 8U)) * 0x1p-24F;
    }
  });
}

}  // namespace thinpipe::trainer
