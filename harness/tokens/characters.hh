// SPDX-License-Identifier: Apache-2.0
// The characters of a text in UTF-8.
#pragma once

#include <string_view>

namespace thinpipe {

// Calls act(character) for each character of the text, which is valid UTF-8.
template <class Act>
void for_each_character(std::string_view text, const Act& act) {
  const auto bytes_of = [](char first) -> std::size_t {
    const auto byte = static_cast<unsigned char>(first);
    if (byte < 0x80) return 1;
    if (byte < 0xe0) return 2;
    return byte < 0xf0 ? 3 : 4;
  };
  while (!text.empty()) {
    const std::size_t bytes = bytes_of(text.front());
    act(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
}

}  // namespace thinpipe
