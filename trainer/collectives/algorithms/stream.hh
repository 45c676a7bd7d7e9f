// SPDX-License-Identifier: Apache-2.0
// Parts of a buffer in the order in which a connection carries them, and how many bytes have passed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace thinpipe::trainer {

class Stream {
 public:
  explicit Stream(std::span<std::byte> buffer) : buffer_(buffer) {}

  void append(std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return;
    parts_.push_back(buffer_.subspan(offset, bytes));
    total_ += bytes;
  }

  std::size_t total() const { return total_; }
  std::size_t passed() const { return passed_; }
  bool ended() const { return passed_ == total_; }

  // Returns the next contiguous bytes, at most `most`.
  std::span<std::byte> next(std::size_t most) const {
    if (ended()) return {};
    const std::span<std::byte> left = parts_[part_].subspan(in_part_);
    return left.first(std::min(most, left.size()));
  }

  // Advances by `bytes`, at most the size of next().
  void pass(std::size_t bytes) {
    passed_ += bytes;
    in_part_ += bytes;
    if (part_ < parts_.size() && in_part_ == parts_[part_].size()) {
      ++part_;
      in_part_ = 0;
    }
  }

 private:
  std::span<std::byte> buffer_;
  std::vector<std::span<std::byte>> parts_;
  std::size_t total_ = 0;
  std::size_t passed_ = 0;
  std::size_t part_ = 0;
  std::size_t in_part_ = 0;
};

}  // namespace thinpipe::trainer
