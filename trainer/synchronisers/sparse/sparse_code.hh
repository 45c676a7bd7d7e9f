// SPDX-License-Identifier: Apache-2.0
// How a sparsifier's kept entries are sent: a header, then their indices and values, little-endian.
//
//   u16 magic 0x7450   u8 method   u8 version 2   u32 bucket   u32 step   u32 n   u32 count     (20 bytes)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/synchronisers/sparse/index_code.hh"

namespace thinpipe::trainer {

// The values that all workers must agree on to decode a message.
struct SparseHeader {
  std::uint8_t method = 0;  // identifies the method in messages
  std::uint32_t bucket = 0;
  std::uint32_t step = 0;
  std::uint32_t n = 0;  // entries of the bucket

  bool operator==(const SparseHeader&) const = default;
};

inline constexpr std::int64_t sparse_header_bytes = 20;

class SparseCode {
 public:
  SparseCode() = default;
  virtual ~SparseCode() = default;
  SparseCode(const SparseCode&) = delete;
  SparseCode& operator=(const SparseCode&) = delete;
  SparseCode(SparseCode&&) = delete;
  SparseCode& operator=(SparseCode&&) = delete;

  // Returns the bytes of a message with `count` of n entries; an upper bound unless has_fixed_size().
  virtual std::int64_t message_bytes(std::int64_t n, std::int64_t count) const = 0;
  virtual bool has_fixed_size() const = 0;

  // Returns whether add() adds exactly the entries that encode() was given, bit for bit.
  virtual bool is_lossless() const { return false; }

  // Returns the expected size, for plans.
  virtual std::int64_t expected_bytes(std::int64_t n, std::int64_t count) const {
    return message_bytes(n, count);
  }

  // Encodes the values dense[indices], with ascending indices, in message_bytes bytes. `sender`: the rank.
  virtual std::vector<std::uint8_t> encode(const SparseHeader& header, std::uint32_t sender,
                                           std::span<const std::uint32_t> indices,
                                           std::span<const float> dense) const = 0;

  // Adds factor·value to dense[index] for every entry. Throws CollectiveError if the header is not `expected`
  // or encode() cannot have written the message: the workers have diverged.
  virtual void add(std::span<const std::uint8_t> message, const SparseHeader& expected, std::uint32_t sender,
                   float factor, std::span<float> dense) const = 0;
};

// Creates a code for indices in the named index code, followed by float32 values.
std::unique_ptr<SparseCode> make_plain_sparse_code(const std::string& index_code);

// Writes the header that every code's message begins with.
void append_sparse_header(const SparseHeader& header, std::uint32_t count, std::vector<std::uint8_t>& out);
// Checks a message's header and removes it from the front of `message`. Returns the count.
std::uint32_t read_sparse_header(const SparseHeader& expected, std::span<const std::uint8_t>& message);

}  // namespace thinpipe::trainer
