// The nearest valid name to a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

// The candidate with the smallest edit distance to `name`, if it is near enough to be meant: at most a third
// of the letters differ, or one name begins with the other.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates);

// "; did you mean \"dense\"? Known: a, b" — the ending of an error about an unknown name.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace thinpipe
