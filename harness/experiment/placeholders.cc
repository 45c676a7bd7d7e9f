// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/placeholders.hh"

#include <vector>

#include <fmt/format.h>

#include "common/support/nearest.hh"

namespace thinpipe {
namespace {

InputError unknown(const std::string& name, const std::map<std::string, std::string>& values,
                   const Place& place) {
  std::vector<std::string> known;
  for (const auto& [each, value] : values) known.push_back(each);
  return InputError(place, fmt::format("unknown placeholder {{{}}}{}; braces that are no placeholder are "
                                       "written {{{{ and }}}}",
                                       name, suggestion(name, known)));
}

}  // namespace

std::string fill_placeholders(std::string_view text, const std::map<std::string, std::string>& values,
                              const Place& place) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter != '{' && letter != '}') {
      out += letter;
    } else if (i + 1 < text.size() && text[i + 1] == letter) {
      out += letter;
      ++i;
    } else {
      const std::size_t end = letter == '{' ? text.find('}', i) : std::string_view::npos;
      if (end == std::string_view::npos) {
        throw InputError(place,
                         fmt::format("\"{}\" has a {} without a partner; write {}{} for a brace that is "
                                     "no placeholder",
                                     text, letter, letter, letter));
      }
      const std::string name(text.substr(i + 1, end - i - 1));
      const auto value = values.find(name);
      if (value == values.end()) throw unknown(name, values, place);
      out += value->second;
      i = end;
    }
  }
  return out;
}

}  // namespace thinpipe
