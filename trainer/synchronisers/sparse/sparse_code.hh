// How the entries that a sparsifier keeps travel: a header, then their places and their values,
// little-endian.
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

// What all workers must agree on for a message to be understood.
struct SparseHeader {
  std::uint8_t method = 0;  // tells methods apart on the wire
  std::uint32_t bucket = 0;
  std::uint32_t step = 0;
  std::uint32_t n = 0;  // elements of the bucket

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

  // Of a message with `count` of n entries: exact where has_fixed_size(), else at most.
  virtual std::int64_t message_bytes(std::int64_t n, std::int64_t count) const = 0;
  virtual bool has_fixed_size() const = 0;

  // Whether add() of a message adds what encode() was given, bit for bit, and nothing else.
  virtual bool is_lossless() const { return false; }

  // What a plan goes by.
  virtual std::int64_t expected_bytes(std::int64_t n, std::int64_t count) const {
    return message_bytes(n, count);
  }

  // Returns message_bytes. The values are dense[indices]; indices ascend. `sender`: the rank.
  virtual std::vector<std::uint8_t> encode(const SparseHeader& header, std::uint32_t sender,
                                           std::span<const std::uint32_t> indices,
                                           std::span<const float> dense) const = 0;

  // dense[index] += factor·value for every entry. Throws CollectiveError when the header is not `expected` or
  // the message is not one that encode() makes: the workers have come apart.
  virtual void add(std::span<const std::uint8_t> message, const SparseHeader& expected, std::uint32_t sender,
                   float factor, std::span<float> dense) const = 0;
};

// float32 values after their indices in the named code.
std::unique_ptr<SparseCode> make_plain_sparse_code(const std::string& index_code);

// For codes to begin and to check messages with.
void append_sparse_header(const SparseHeader& header, std::uint32_t count, std::vector<std::uint8_t>& out);
// The count; the bytes that follow the header are left in `message`.
std::uint32_t read_sparse_header(const SparseHeader& expected, std::span<const std::uint8_t>& message);

}  // namespace thinpipe::trainer
