// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/pickle_bytes.hh"

#include <bit>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {

void PickleBytes::fail(const std::string& reason) const {
  throw Error(fmt::format("{} is damaged or not a file of tensors: {} (byte {} of the pickle)", source_,
                          reason, position_));
}

std::span<const char> PickleBytes::take(std::uint64_t count) {
  if (count > bytes_.size() - position_) fail("it ends too early");
  const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
  position_ += taken.size();
  return taken;
}

std::uint64_t PickleBytes::number(std::size_t width) {
  std::uint64_t value = 0;
  std::size_t shift = 0;
  for (const char byte : take(width)) {
    value |= std::uint64_t{static_cast<std::uint8_t>(byte)} << shift;
    shift += 8;
  }
  return value;
}

double PickleBytes::big_endian_double() {
  std::uint64_t bits = 0;
  for (const char byte : take(8)) bits = bits << 8U | static_cast<std::uint8_t>(byte);
  return std::bit_cast<double>(bits);
}

std::string PickleBytes::text(std::uint64_t length) {
  const auto taken = take(length);
  return {taken.begin(), taken.end()};
}

std::string PickleBytes::line() {
  std::string out;
  for (char byte = take(1)[0]; byte != '\n'; byte = take(1)[0]) out += byte;
  return out;
}

}  // namespace thinpipe::trainer
