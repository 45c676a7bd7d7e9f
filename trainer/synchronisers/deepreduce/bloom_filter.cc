// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/bloom_filter.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "trainer/synchronisers/quantised/random_index.hh"

namespace thinpipe::trainer {
namespace {

std::int64_t bloom_bits(std::int64_t members, double false_positive_rate) {
  const double bits_each = -std::log2(false_positive_rate) / std::numbers::ln2;
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(members) * bits_each));
}

}  // namespace

std::uint32_t murmur3(std::uint32_t key, std::uint32_t seed) {
  const std::uint32_t scrambled = std::rotl(key * 0xcc9e2d51U, 15) * 0x1b873593U;
  std::uint32_t hash = std::rotl(seed ^ scrambled, 13) * 5 + 0xe6546b64U;
  hash ^= sizeof key;
  hash = (hash ^ (hash >> 16U)) * 0x85ebca6bU;
  hash = (hash ^ (hash >> 13U)) * 0xc2b2ae35U;
  return hash ^ (hash >> 16U);
}

BloomFilter::BloomFilter(std::int64_t members, double false_positive_rate)
    : bits_(bloom_bits(members, false_positive_rate)),
      hashes_(static_cast<int>(std::ceil(-std::log2(false_positive_rate)))),
      bytes_(static_cast<std::size_t>(bytes_for(members, false_positive_rate))) {}

std::int64_t BloomFilter::bytes_for(std::int64_t members, double false_positive_rate) {
  return (bloom_bits(members, false_positive_rate) + 7) / 8;
}

std::size_t BloomFilter::bit_of(std::uint32_t key, int hash) const {
  return random_index(murmur3(key, static_cast<std::uint32_t>(hash)), static_cast<std::size_t>(bits_));
}

void BloomFilter::insert(std::uint32_t key) {
  for (int hash = 0; hash < hashes_; ++hash) {
    const std::size_t bit = bit_of(key, hash);
    bytes_[bit / 8] |= static_cast<std::uint8_t>(1U << (bit % 8));
  }
}

std::vector<std::uint32_t> BloomFilter::positives(std::uint32_t n) const {
  std::vector<std::uint32_t> out;
  if (bits_ == 0) return out;
  // Filters a batch of keys by one hash after another. Each hash removes about half of the rest,
  // unpredictably, so the loop is branch-free.
  std::array<std::uint32_t, 4096> keys{};
  for (std::uint32_t begin = 0; begin < n;) {
    std::size_t left = std::min<std::size_t>(keys.size(), n - begin);
    std::iota(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(left), begin);
    begin += static_cast<std::uint32_t>(left);
    for (int hash = 0; hash < hashes_ && left > 0; ++hash) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < left; ++i) {
        const std::uint32_t key = keys[i];
        keys[kept] = key;
        const std::size_t bit = bit_of(key, hash);
        kept += (bytes_[bit / 8] >> (bit % 8)) & 1U;
      }
      left = kept;
    }
    out.insert(out.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(left));
  }
  return out;
}

}  // namespace thinpipe::trainer
