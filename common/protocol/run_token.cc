// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/run_token.hh"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string_view>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

constexpr std::size_t digits_per_byte = 2;

}  // namespace

RunToken random_run_token() {
  std::random_device random;
  RunToken out;
  for (std::byte& each : out) each = static_cast<std::byte>(random());
  return out;
}

std::string text_of(const RunToken& token) {
  std::string out;
  for (const std::byte each : token) out += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return out;
}

std::optional<RunToken> run_token_of_environment() {
  const char* const text = std::getenv(run_token_variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  RunToken out;
  bool is_token = digits.size() == digits_per_byte * out.size();
  for (std::size_t i = 0; is_token && i < out.size(); ++i) {
    constexpr int hexadecimal = 16;
    std::uint8_t value = 0;
    const char* const first = digits.data() + digits_per_byte * i;
    const char* const last = first + digits_per_byte;
    const auto [end, error] = std::from_chars(first, last, value, hexadecimal);
    is_token = error == std::errc() && end == last;
    out[i] = static_cast<std::byte>(value);
  }
  if (!is_token)
    throw Error(fmt::format("read {}: it must have {} hexadecimal digits", run_token_variable,
                            digits_per_byte * out.size()));
  return out;
}

}  // namespace thinpipe
