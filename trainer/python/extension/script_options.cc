// SPDX-License-Identifier: Apache-2.0
#include "trainer/python/extension/script_options.hh"

#include <optional>
#include <string>
#include <vector>

namespace thinpipe::trainer::python {
namespace {

std::optional<double> bound(const Json& option, const char* key) {
  return option.contains(key) ? std::optional(option.at(key).get<double>()) : std::nullopt;
}

Rule rule_of(const Json& option) {
  Rule rule{.above = bound(option, "above"),
            .at_least = bound(option, "at_least"),
            .below = bound(option, "below"),
            .at_most = bound(option, "at_most"),
            .required = option.at("required").get<bool>()};
  if (option.contains("one_of")) rule.one_of = option.at("one_of").get<std::vector<std::string>>();
  return rule;
}

template <class T>
T default_of(const Json& option) {
  return option.at("required") ? T{} : option.at("default").get<T>();
}

template <class T>
Json read_as(JsonObject& object, const std::string& key, const Json& option) {
  const Rule rule = rule_of(option);
  if (!option.value("nullable", false)) {
    auto value = default_of<T>(option);
    object.read(key, value, rule);
    return value;
  }
  std::optional<T> value;
  if (option.contains("default") && !option.at("default").is_null()) value = default_of<T>(option);
  object.read(key, value, rule);
  return value ? Json(*value) : Json(nullptr);
}

template <class T>
Json read_one_or_many(JsonObject& object, const std::string& key, const Json& option) {
  return option.value("list", false) ? read_as<std::vector<T>>(object, key, option)
                                     : read_as<T>(object, key, option);
}

Json read(JsonObject& object, const std::string& key, const Json& option) {
  const auto type = option.at("type").get<std::string>();
  if (type == "integer") return read_one_or_many<std::int64_t>(object, key, option);
  if (type == "number") return read_one_or_many<double>(object, key, option);
  if (type == "string") return read_one_or_many<std::string>(object, key, option);
  return read_as<bool>(object, key, option);
}

}  // namespace

Json read_described(JsonObject& object, const Json& description) {
  Json out = Json::object();
  for (const Json& option : description) {
    const auto key = option.at("key").get<std::string>();
    out[key] = read(object, key, option);
  }
  return out;
}

}  // namespace thinpipe::trainer::python
