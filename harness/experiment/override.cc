// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/override.hh"

#include <fmt/format.h>

#include "harness/experiment/merge.hh"

namespace thinpipe {

Layer parse_override(const std::string& assignment, const IsText& is_text) {
  const Place place{fmt::format("--set {}", assignment), ""};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) throw InputError(place, "must be written path=value");
  const std::vector<std::string> keys = path_keys(assignment.substr(0, equals), place);
  const std::string text = assignment.substr(equals + 1);
  // JSON is read as strictly as a file; anything else is a string.
  Json value = Json::accept(text) ? parse_json(text, place.file) : Json(text);
  if (!value.is_string() && !value.is_null() && is_text && is_text(keys)) value = text;
  return {nested(keys, value), place, keys};
}

}  // namespace thinpipe
