// SPDX-License-Identifier: Apache-2.0
#include "common/support/utf8.hh"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace thinpipe {
namespace {

// Returns the bytes of the character that `text` begins with; 0 if it is not valid.
std::size_t character_length(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  // The second byte's bounds exclude overlong forms, surrogates and characters above U+10FFFF.
  std::uint8_t lowest = 0x80;
  std::uint8_t highest = 0xbf;
  if (first == 0xe0) lowest = 0xa0;
  if (first == 0xed) highest = 0x9f;
  if (first == 0xf0) lowest = 0x90;
  if (first == 0xf4) highest = 0x8f;
  std::size_t length = 0;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (length == 0 || byte(1) < lowest || byte(1) > highest) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

// Returns the character, escaped if it would move the cursor or other text.
std::string shown(std::string_view character) {
  const auto byte = [character](std::size_t i) { return static_cast<std::uint8_t>(character[i]); };
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  if (character == "\r") return "\\r";
  if (character.size() == 1 && (byte(0) < 0x20 || byte(0) == 0x7f)) return fmt::format("\\u{:04x}", byte(0));
  // U+0080 to U+009F, and the marks U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069.
  if (character.size() == 2 && byte(0) == 0xc2 && byte(1) < 0xa0) return fmt::format("\\u{:04x}", byte(1));
  if (character.size() == 3 && byte(0) == 0xe2 && (byte(1) == 0x80 || byte(1) == 0x81)) {
    const unsigned point = 0x2000U + (byte(1) - 0x80U) * 0x40U + (byte(2) - 0x80U);
    const bool turns = point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
                       (point >= 0x2066 && point <= 0x2069);
    if (turns) return fmt::format("\\u{:04x}", point);
  }
  return std::string(character);
}

}  // namespace

std::string_view first_characters(std::string_view text, std::size_t n) {
  std::size_t end = 0;
  for (; n > 0 && end < text.size(); --n) end += std::max<std::size_t>(1, character_length(text.substr(end)));
  return text.substr(0, end);
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    out += length == 0 ? fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[0]))
                       : shown(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (begin > 0) out += '\n';
    out += printable(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

}  // namespace thinpipe
