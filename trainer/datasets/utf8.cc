#include "trainer/datasets/utf8.hh"

#include <cstdint>

namespace thinpipe::trainer {
namespace {

// Bytes of the character that `text` begins with, or 0 when it is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  // The second byte's bounds keep out longer forms than needed, surrogates and what is beyond U+10FFFF.
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

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

}  // namespace thinpipe::trainer
