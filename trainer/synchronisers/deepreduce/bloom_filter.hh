// SPDX-License-Identifier: Apache-2.0
// A set of numbers as a bit field with false positives but no false negatives. Bloom, Space/Time Trade-offs
// in Hash Coding with Allowable Errors (CACM 1970).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

// Returns MurmurHash3 (x86, 32 bits) of a key's four bytes, lowest first.
std::uint32_t murmur3(std::uint32_t key, std::uint32_t seed);

// For r members and a false-positive rate ε:
//   m = ⌈r·log2(1/ε)/ln 2⌉ bits; κ = ⌈log2(1/ε)⌉ hashes, of the seeds 0 to κ-1
class BloomFilter {
 public:
  BloomFilter(std::int64_t members, double false_positive_rate);

  static std::int64_t bytes_for(std::int64_t members, double false_positive_rate);

  // The bytes to send: the lowest bit of each byte first, the rest of the last byte zero.
  std::span<std::uint8_t> bytes() { return bytes_; }

  std::int64_t bits() const { return bits_; }
  int hashes() const { return hashes_; }

  // Returns the bit that the key's hash with seed `hash` selects.
  std::size_t bit_of(std::uint32_t key, int hash) const;

  void insert(std::uint32_t key);

  // Returns the positives among 0 to n - 1: all members and the false positives. Ascending.
  std::vector<std::uint32_t> positives(std::uint32_t n) const;

 private:
  std::int64_t bits_;
  int hashes_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace thinpipe::trainer
