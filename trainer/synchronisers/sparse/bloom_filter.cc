#include "trainer/synchronisers/bloom_filter.hh"

#include <bit>
#include <cmath>
#include <numbers>

#include "trainer/synchronisers/random_index.hh"

namespace thinpipe::trainer {
namespace {

std::int64_t bloom_bits(std::int64_t members, double false_positive_rate) {
  const double bits_each = std::log2(1 / false_positive_rate) / std::numbers::ln2;
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(members) * bits_each));
}

// MurmurHash3 in its two halves: what it makes of a key, and what a seed makes of that.
std::uint32_t scrambled(std::uint32_t key) {
  return std::rotl(key * 0xcc9e2d51U, 15) * 0x1b873593U;
}

std::uint32_t seeded(std::uint32_t scrambled_key, std::uint32_t seed) {
  std::uint32_t hash = std::rotl(seed ^ scrambled_key, 13) * 5 + 0xe6546b64U;
  hash ^= sizeof(std::uint32_t);  // the key's length
  hash = (hash ^ (hash >> 16U)) * 0x85ebca6bU;
  hash = (hash ^ (hash >> 13U)) * 0xc2b2ae35U;
  return hash ^ (hash >> 16U);
}

}  // namespace

std::uint32_t murmur3(std::uint32_t key, std::uint32_t seed) {
  return seeded(scrambled(key), seed);
}

BloomFilter::BloomFilter(std::int64_t members, double false_positive_rate)
    : bits_(bloom_bits(members, false_positive_rate)),
      hashes_(static_cast<int>(std::ceil(std::log2(1 / false_positive_rate)))),
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

bool BloomFilter::may_hold(std::uint32_t key) const {
  if (bits_ == 0) return false;
  const std::uint32_t scrambled_key = scrambled(key);
  for (int hash = 0; hash < hashes_; ++hash) {
    const std::size_t bit = random_index(seeded(scrambled_key, static_cast<std::uint32_t>(hash)),
                                         static_cast<std::size_t>(bits_));
    if (((bytes_[bit / 8] >> (bit % 8)) & 1U) == 0) return false;
  }
  return true;
}

std::vector<std::uint32_t> BloomFilter::positives(std::uint32_t n) const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t key = 0; key < n; ++key) {
    if (may_hold(key)) out.push_back(key);
  }
  return out;
}

}  // namespace thinpipe::trainer
