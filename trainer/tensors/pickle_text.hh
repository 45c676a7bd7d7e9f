// SPDX-License-Identifier: Apache-2.0
// The literals of Python's text pickles, protocols 0 and 1, one per line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace thinpipe::trainer {

// Returns the text of a string literal such as 'it\'s' or "a\x41"; nullopt if it is not a literal.
std::optional<std::string> unquoted(std::string_view literal);

// Returns the UTF-8 text of Python's encoding raw-unicode-escape: Latin-1 and \uXXXX or \UXXXXXXXX. nullopt
// if an escape is truncated or not a character.
std::optional<std::string> raw_unicode_text(std::string_view line);

// A text pickle's reference to a storage: "('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 4)".
struct StorageText {
  std::string storage_class;  // "torch.FloatStorage"
  std::string key;
  std::int64_t elements = 0;
};

// Returns nullopt if the text is not such a reference, or refers to a part of another storage.
std::optional<StorageText> read_storage_text(std::string_view text);

}  // namespace thinpipe::trainer
