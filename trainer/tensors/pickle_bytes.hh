// SPDX-License-Identifier: Apache-2.0
// The bytes of a pickle, read from front to back: the arguments of its opcodes.
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>

namespace thinpipe::trainer {

class PickleBytes {
 public:
  // Both must outlive this object. Errors name `source`.
  PickleBytes(std::span<const char> bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  std::size_t size() const { return bytes_.size(); }
  // Returns the number of bytes read.
  std::size_t position() const { return position_; }

  // Throws Error with the source, the reason and the position.
  [[noreturn]] void fail(const std::string& reason) const;

  // These functions throw Error if the pickle ends too early.
  std::span<const char> take(std::uint64_t count);
  std::uint64_t number(std::size_t width);  // little-endian
  double big_endian_double();
  std::string text(std::uint64_t length);
  // Reads up to the end of a line and returns the text before it.
  std::string line();

  // Throws Error unless the whole text is a number.
  template <class Number>
  Number parsed(const std::string& text) const {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) fail("a number is malformed");
    return number;
  }

 private:
  std::span<const char> bytes_;
  const std::string& source_;
  std::size_t position_ = 0;
};

}  // namespace thinpipe::trainer
