// SPDX-License-Identifier: Apache-2.0
// DeepReduce's codes for the indices of a sparse message. A lossy code may decode to other indices than it
// was given.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/base/philox.hh"

namespace thinpipe::trainer {

class DeepReduceIndexCode {
 public:
  DeepReduceIndexCode() = default;
  virtual ~DeepReduceIndexCode() = default;
  DeepReduceIndexCode(const DeepReduceIndexCode&) = delete;
  DeepReduceIndexCode& operator=(const DeepReduceIndexCode&) = delete;
  DeepReduceIndexCode(DeepReduceIndexCode&&) = delete;
  DeepReduceIndexCode& operator=(DeepReduceIndexCode&&) = delete;

  // Returns the bytes of `count` indices below n; an upper bound unless has_fixed_size().
  virtual std::int64_t bytes(std::int64_t n, std::int64_t count) const = 0;
  virtual std::int64_t expected_bytes(std::int64_t n, std::int64_t count) const { return bytes(n, count); }
  virtual bool has_fixed_size() const { return true; }

  // Returns how many values follow: `count`, unless the code adds indices.
  virtual std::int64_t max_values(std::int64_t /*n*/, std::int64_t count) const { return count; }
  virtual std::int64_t expected_values(std::int64_t /*n*/, std::int64_t count) const { return count; }
  virtual bool has_fixed_count() const { return true; }

  // Returns whether indices are read in the order in which they were written; otherwise they are read in
  // ascending order.
  virtual bool keeps_order() const { return false; }

  // Appends the code of `indices`. Returns the indices whose values must follow. stream: the sender's, for
  // random choices.
  virtual std::vector<std::uint32_t> append(std::span<const std::uint32_t> indices, std::uint32_t n,
                                            const RandomStream& stream,
                                            std::vector<std::uint8_t>& out) const = 0;

  // Returns the same indices as append() of `count` indices, and removes the bytes it read from the front of
  // `in`. All are different and below n. Throws CollectiveError if the bytes are not such a code.
  virtual std::vector<std::uint32_t> read(std::span<const std::uint8_t>& in, std::uint32_t n,
                                          std::uint32_t count, const RandomStream& stream) const = 0;
};

// Codes by name:
//   plain     4 bytes each
//   bloom_p0  a Bloom filter; the values of false positives are sent too, which sends more of acc
//   bloom_p1  a Bloom filter; as many random positives as there are members
//   bloom_p2  the same number, first the positives that alone account for one of its bits
//   run_length, huffman  as in index_code.hh, without loss
std::unique_ptr<DeepReduceIndexCode> make_deepreduce_index_code(const std::string& name,
                                                                double false_positive_rate);
std::vector<std::string> deepreduce_index_code_names();

}  // namespace thinpipe::trainer
