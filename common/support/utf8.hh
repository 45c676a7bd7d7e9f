// SPDX-License-Identifier: Apache-2.0
// UTF-8, as defined by RFC 3629.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace thinpipe {

// Returns the index of the first byte that is not part of a valid character; nullopt if there is none.
// Overlong forms, surrogates and characters above U+10FFFF are not valid.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Returns the first n characters of a text in UTF-8, or all of it. A byte that is not UTF-8 counts as a character.
std::string_view first_characters(std::string_view text, std::size_t n);

// Returns the text in a form that is safe to show in a terminal or a message. Escapes control characters,
// marks that change the direction of text, and bytes that are not UTF-8, as in strings of C and JSON: "\n",
// "\u001b", "\xe9".
std::string printable(std::string_view text);
// Does the same, but keeps line ends.
std::string printable_lines(std::string_view text);

}  // namespace thinpipe
