// UTF-8 as RFC 3629 has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace thinpipe {

// Where the first byte is that is not part of a whole, shortest-form character up to U+10FFFF, surrogates
// apart; nothing when there is none.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Returns the text as a terminal or a message can show it. Control characters, which a terminal would obey,
// the marks that turn the direction of text, and bytes that are no UTF-8 are written as in strings of C and
// JSON: "\n", "\u001b",
// "\xe9".
std::string printable(std::string_view text);
// The same, but lines stay lines.
std::string printable_lines(std::string_view text);

}  // namespace thinpipe
