// SPDX-License-Identifier: Apache-2.0
#include "common/support/registry.hh"

#include <algorithm>

#include <fmt/format.h>

#include "common/support/nearest.hh"

namespace thinpipe {

std::optional<ScriptName> parse_script_name(std::string_view name) {
  constexpr std::string_view separator = ".py:";
  const std::size_t end = name.rfind(separator);
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  const std::string_view object = name.substr(end + separator.size());
  if (object.empty()) return std::nullopt;
  return ScriptName{.file = std::string(name.substr(0, end + separator.size() - 1)),
                    .object = std::string(object)};
}

bool names_script(const Json& config) {
  if (config.is_array()) return std::ranges::any_of(config, names_script);
  if (!config.is_object()) return false;
  const auto name = config.find("name");
  if (name != config.end() && name->is_string() && parse_script_name(name->get_ref<const std::string&>())) {
    return true;
  }
  return std::ranges::any_of(config, names_script);
}

void refuse_unknown_name(const std::string& name, const std::vector<std::string>& known, const Place& place) {
  throw InputError(place, fmt::format("unknown name \"{}\"{}", name, suggestion(name, known)));
}

}  // namespace thinpipe
