// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/number_pattern.hh"

#include <charconv>

#include <fmt/format.h>

#include "common/support/utf8.hh"

namespace thinpipe {
namespace {

std::regex compile(const std::string& pattern, const Place& place) {
  try {
    return std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw InputError(place, fmt::format("\"{}\" is not a regular expression: {}", pattern, error.what()));
  }
}

}  // namespace

NumberPattern::NumberPattern(const std::string& pattern, const Place& place)
    : regex_(compile(pattern, place)) {
  if (regex_.mark_count() == 1) return;
  throw InputError(place,
                   fmt::format("\"{}\" has {} groups, but must have one, which matches the number, such as "
                               "\"step ([0-9]+)\"; (?:...) is not counted",
                               pattern, regex_.mark_count()));
}

std::optional<double> NumberPattern::find(std::string_view line) const {
  line = line.substr(0, max_line_bytes);
  std::match_results<std::string_view::const_iterator> match;
  try {
    if (!std::regex_search(line.begin(), line.end(), match, regex_) || !match[1].matched) return std::nullopt;
  } catch (const std::regex_error& error) {
    throw Error(fmt::format("cannot search \"{}\": {}", printable(line.substr(0, 100)), error.what()));
  }
  const std::string text = match[1].str();
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw Error(fmt::format("\"{}\" is not a number", printable(text)));
  const std::string_view rest(match[1].second, line.end());
  const std::size_t unit = rest.find_first_not_of(' ');
  const bool is_percentage = unit != std::string_view::npos && rest[unit] == '%';
  return is_percentage ? number / 100 : number;
}

}  // namespace thinpipe
