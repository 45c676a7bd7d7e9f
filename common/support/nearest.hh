// SPDX-License-Identifier: Apache-2.0
// The nearest valid name to a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

// Returns the candidate with the smallest edit distance to `name`; nullopt if none is near enough. Near
// enough: at most a third of the letters differ, or one name begins with the other.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates);

// Returns the ending of an error about an unknown name: "; did you mean \"dense\"? known: dense, fp16".
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace thinpipe
