// SPDX-License-Identifier: Apache-2.0
// A stream of bits, with the lowest bit of each byte first.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "trainer/collectives/collective_error.hh"

namespace thinpipe::trainer {

class BitWriter {
 public:
  explicit BitWriter(std::vector<std::uint8_t>& out) : out_(out) {}

  // Appends the lowest `bits` bits of value, at most 32; the others must be zero.
  void append(std::uint32_t value, int bits) {
    pending_ |= std::uint64_t{value} << filled_;
    filled_ += bits;
    if (filled_ < 32) return;
    const auto word = static_cast<std::uint32_t>(pending_);
    const std::size_t end = out_.size();
    out_.resize(end + sizeof word);
    std::memcpy(&out_[end], &word, sizeof word);
    pending_ >>= 32U;
    filled_ -= 32;
  }

  // Appends `ones` ones and a zero.
  void append_unary(std::uint32_t ones) {
    for (; ones >= 32; ones -= 32) append(~std::uint32_t{0}, 32);
    append((std::uint32_t{1} << ones) - 1, static_cast<int>(ones) + 1);
  }

  // Writes the remaining bits, padded with zeros to a whole byte.
  void finish() {
    for (; filled_ > 0; filled_ -= 8) {
      out_.push_back(static_cast<std::uint8_t>(pending_));
      pending_ >>= 8U;
    }
    filled_ = 0;
  }

 private:
  std::vector<std::uint8_t>& out_;
  std::uint64_t pending_ = 0;
  int filled_ = 0;  // below 32 between calls
};

// Throws CollectiveError if the bits end too early.
class BitReader {
 public:
  explicit BitReader(std::span<const std::uint8_t> in) : in_(in) {}

  std::uint32_t read(int bits) {
    fill(bits);
    const auto value = static_cast<std::uint32_t>(pending_ & ((std::uint64_t{1} << bits) - 1));
    drop(bits);
    return value;
  }

  std::uint32_t read_unary() {
    std::uint32_t ones = 0;
    for (;;) {
      fill(1);
      const int run = std::min(std::countr_one(pending_), filled_);
      ones += static_cast<std::uint32_t>(run);
      if (run < filled_) {
        drop(run + 1);
        return ones;
      }
      drop(run);
    }
  }

  // Returns the number of bytes touched so far.
  std::size_t bytes_read() const { return next_ - static_cast<std::size_t>(filled_ / 8); }

 private:
  void fill(int wanted) {
    while (filled_ <= 56 && next_ < in_.size()) {
      pending_ |= std::uint64_t{in_[next_++]} << filled_;
      filled_ += 8;
    }
    if (filled_ < wanted) throw CollectiveError("a message of bits ends before its last entry");
  }

  void drop(int bits) {
    pending_ = bits == 64 ? 0 : pending_ >> bits;
    filled_ -= bits;
  }

  std::span<const std::uint8_t> in_;
  std::size_t next_ = 0;
  std::uint64_t pending_ = 0;
  int filled_ = 0;
};

}  // namespace thinpipe::trainer
