// SPDX-License-Identifier: Apache-2.0
#include "common/support/options.hh"

#include <cmath>

#include <fmt/format.h>

namespace thinpipe {

namespace {

// Returns whether `value` is a whole number, such as 2.0, that a double holds exactly.
bool is_whole(const Json& value) {
  const double number = value.get<double>();
  return number == std::floor(number) && std::abs(number) < 0x1p53;
}

}  // namespace

Json fill_defaults(Json value, const Json& description) {
  for (const Json& field : description) {
    const std::string key = field["key"];
    if (!field.contains("default")) continue;
    if (!value.contains(key)) {
      value[key] = field["default"];
    } else if (field["default"].is_number_float() && value[key].is_number()) {
      value[key] = value[key].get<double>();
    } else if (field["default"].is_number_integer() && value[key].is_number_float() && is_whole(value[key])) {
      value[key] = static_cast<std::int64_t>(value[key].get<double>());
    }
  }
  return value;
}

namespace detail {
namespace {

void describe_quantity(Json& entry, const Rule& rule) {
  const bool positive = rule.above.value_or(-1) >= 0 || rule.at_least.value_or(-1) > 0;
  entry["type"] = "string";
  entry["unit"] = base_unit(*rule.quantity);
  const Range range = positive                          ? Range::positive
                      : rule.at_least.value_or(-1) >= 0 ? Range::not_negative
                                                        : Range::any;
  const std::string pattern = quantity_pattern(*rule.quantity, range);
  entry["pattern"] = rule.none.empty() ? pattern : fmt::format("^{}$|{}", rule.none, pattern);
}

// Describes the name or the path of a file.
void describe_file(Json& entry, const Rule& rule) {
  entry.erase("type");
  entry["any_of"] = {{{"type", "string"}, {"one_of", rule.file_names}},
                     {{"type", "string"}, {"pattern", R"([^/]\.[^/]*$)"}}};
}

}  // namespace

Json describe_shorthand(const Json& options, std::string_view shorthand) {
  Json forms = Json::array();
  for (const Json& field : options) {
    if (field.at("key") != shorthand) continue;
    Json form = field;
    for (const char* of_the_member : {"key", "effect", "required", "default"}) form.erase(of_the_member);
    forms = form.contains("any_of") ? form["any_of"] : Json::array({form});
  }
  forms.push_back({{"options", options}});
  return forms;
}

Json write_quantity(Quantity quantity, double value) {
  return format_quantity(quantity, value);
}

Json describe_rule(Json entry, std::string_view key, const Rule& rule) {
  entry["key"] = key;
  entry["effect"] = rule.effect;
  if (rule.quantity) describe_quantity(entry, rule);
  if (!rule.file_names.empty()) describe_file(entry, rule);
  if (!rule.none.empty()) entry.erase("nullable");
  if (rule.above) entry["above"] = *rule.above;
  if (rule.at_least) entry["at_least"] = *rule.at_least;
  if (rule.below) entry["below"] = *rule.below;
  if (rule.at_most) entry["at_most"] = *rule.at_most;
  if (!rule.one_of.empty()) entry["one_of"] = rule.one_of;
  return entry;
}

}  // namespace detail
}  // namespace thinpipe
