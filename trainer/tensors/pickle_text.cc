// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/pickle_text.hh"

#include <array>
#include <charconv>

namespace thinpipe::trainer {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

// Appends a character as UTF-8; returns false if it does not exist.
bool append_utf8(std::uint32_t character, std::string& out) {
  if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) return false;
  const auto byte = [&out](std::uint32_t value) { out += static_cast<char>(value); };
  if (character < 0x80) {
    byte(character);
  } else if (character < 0x800) {
    byte(0xc0 | character >> 6);
    byte(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    byte(0xe0 | character >> 12);
    byte(0x80 | (character >> 6 & 0x3f));
    byte(0x80 | (character & 0x3f));
  } else {
    byte(0xf0 | character >> 18);
    byte(0x80 | (character >> 12 & 0x3f));
    byte(0x80 | (character >> 6 & 0x3f));
    byte(0x80 | (character & 0x3f));
  }
  return true;
}

// Reads the escape at the beginning of `text`, after its backslash, and removes it.
bool take_escape(std::string_view& text, std::string& out) {
  constexpr std::array<std::pair<char, char>, 6> escapes = {
      {{'\\', '\\'}, {'\'', '\''}, {'"', '"'}, {'n', '\n'}, {'t', '\t'}, {'r', '\r'}}};
  if (text.starts_with('x')) {
    std::uint8_t value = 0;
    if (text.size() < 3 || !read_number(text.substr(1, 2), value, 16)) return false;
    out += static_cast<char>(value);
    text.remove_prefix(3);
    return true;
  }
  for (const auto& [name, meaning] : escapes) {
    if (!text.starts_with(name)) continue;
    out += meaning;
    text.remove_prefix(1);
    return true;
  }
  return false;
}

// Removes `expected` from the beginning; returns false if it is not there.
bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// Removes the text up to and including `end`, and returns the part before `end`.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) {
  const std::size_t length = text.find(end);
  if (length == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length + end.size());
  return taken;
}

}  // namespace

std::optional<std::string> unquoted(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != literal.back() ||
      (literal.front() != '\'' && literal.front() != '"')) {
    return std::nullopt;
  }
  std::string_view rest = literal.substr(1, literal.size() - 2);
  std::string out;
  while (!rest.empty()) {
    const char character = rest.front();
    rest.remove_prefix(1);
    if (character != '\\') {
      out += character;
    } else if (!take_escape(rest, out)) {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::string> raw_unicode_text(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const bool is_short = line.starts_with("\\u");
    const std::size_t digits = is_short ? 4 : 8;
    std::uint32_t character = static_cast<std::uint8_t>(line.front());
    std::size_t length = 1;
    if (is_short || line.starts_with("\\U")) {
      length = 2 + digits;
      if (line.size() < length || !read_number(line.substr(2, digits), character, 16)) return std::nullopt;
    }
    if (!append_utf8(character, out)) return std::nullopt;
    line.remove_prefix(length);
  }
  return out;
}

std::optional<StorageText> read_storage_text(std::string_view text) {
  StorageText storage;
  if (!take(text, "('storage', <class '")) return std::nullopt;
  const auto storage_class = take_until(text, "'>, '");
  const auto key = take_until(text, "', '");
  const auto device = take_until(text, "', ");
  if (!storage_class || !key || !device) return std::nullopt;
  const bool closed = text.ends_with(", None)") || text.ends_with(')');
  if (!closed) return std::nullopt;
  text.remove_suffix(text.ends_with(", None)") ? 7 : 1);
  if (!read_number(text, storage.elements)) return std::nullopt;
  storage.storage_class = *storage_class;
  storage.key = *key;
  return storage;
}

}  // namespace thinpipe::trainer
