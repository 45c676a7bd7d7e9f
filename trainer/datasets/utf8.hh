// UTF-8 as RFC 3629 has it.
#pragma once

#include <optional>
#include <string_view>

namespace thinpipe::trainer {

// Where the first byte is that is not part of a whole, shortest-form character up to U+10FFFF, surrogates
// apart; nothing when there is none.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

}  // namespace thinpipe::trainer
