// SPDX-License-Identifier: Apache-2.0
// A regular expression that finds a number in a line of a program's output.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "common/support/exception.hh"

namespace thinpipe {

class NumberPattern {
 public:
  // The number is what the pattern's only group matches; the syntax is that of ECMAScript. Throws InputError at
  // `place` if it is not a regular expression, or has no group or several.
  NumberPattern(const std::string& pattern, const Place& place);

  // Returns the number of the first match; nullopt if the line does not match. Of a long line, only the first
  // max_line_bytes are searched. A number that is followed by % is divided by 100. NaN and infinity are
  // numbers. Throws Error with the text if it is not a number.
  std::optional<double> find(std::string_view line) const;

  // A backtracking search takes too long, or too much of the stack, in a line without an end.
  static constexpr std::size_t max_line_bytes = 4096;

 private:
  std::regex regex_;
};

}  // namespace thinpipe
