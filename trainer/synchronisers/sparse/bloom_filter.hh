// A set of numbers as a field of bits that never denies a member and takes a few others for members too.
// Bloom, Space/Time Trade-offs in Hash Coding with Allowable Errors (CACM 1970).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// MurmurHash3 (x86, 32 bits) of a key's four bytes, lowest first.
std::uint32_t murmur3(std::uint32_t key, std::uint32_t seed);

// For r members and a fraction ε of the others that may be taken for members:
//   m = ⌈r·log2(1/ε)/ln 2⌉ bits; κ = ⌈log2(1/ε)⌉ hashes, of the seeds 0 to κ-1
class BloomFilter {
 public:
  BloomFilter(std::int64_t members, double false_positive_rate);

  static std::int64_t bytes_for(std::int64_t members, double false_positive_rate);

  // What travels: the lowest bit of each byte first. The rest of the last byte is zero.
  std::span<std::uint8_t> bytes() { return bytes_; }

  std::int64_t bits() const { return bits_; }
  int hashes() const { return hashes_; }

  // Which bit the key's hash of that seed falls on.
  std::size_t bit_of(std::uint32_t key, int hash) const;

  void insert(std::uint32_t key);

  // Of 0 to n - 1 those that it may hold: all members and some others. Ascending.
  std::vector<std::uint32_t> positives(std::uint32_t n) const;

 private:
  std::int64_t bits_;
  int hashes_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace thinpipe::trainer
