// SPDX-License-Identifier: Apache-2.0
#include "harness/schema/option_schema.hh"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace thinpipe {
namespace {

void allow_null(OrderedJson& schema) {
  if (schema.contains("anyOf")) {
    schema["anyOf"].push_back({{"type", "null"}});
  } else {
    schema["type"] = OrderedJson::array({schema["type"], "null"});
    if (schema.contains("enum")) schema["enum"].push_back(nullptr);
  }
}

// Returns the schema of a value that is neither a list nor null.
OrderedJson value_schema(const Json& field, Standing standing) {
  if (field.contains("any_of")) {
    OrderedJson ways = OrderedJson::array();
    for (const Json& way : field["any_of"]) ways.push_back(value_schema(way, standing));
    return {{"anyOf", ways}};
  }
  if (field.contains("options")) {
    OrderedJson out = {{"type", "object"}};
    out.update(object_schema(field["options"], standing));
    if (field.contains("constraint")) out.update(OrderedJson(field["constraint"]));
    return out;
  }
  OrderedJson out = {{"type", field.at("type")}};
  if (field.contains("one_of")) out["enum"] = field["one_of"];
  if (field.contains("pattern")) out["pattern"] = field["pattern"];
  if (field.contains("unit")) return out;  // a schema cannot express bounds of quantities
  for (const auto& [word, keyword] : {std::pair{"above", "exclusiveMinimum"},
                                      {"at_least", "minimum"},
                                      {"below", "exclusiveMaximum"},
                                      {"at_most", "maximum"}}) {
    if (field.contains(word)) out[keyword] = field[word];
  }
  if (field.at("type") == "integer") {
    // The bounds of read_value().
    if (!out.contains("minimum") && !out.contains("exclusiveMinimum")) {
      out["minimum"] = std::numeric_limits<std::int64_t>::min();
    }
    if (!out.contains("maximum") && !out.contains("exclusiveMaximum")) {
      out["maximum"] = std::numeric_limits<std::int64_t>::max();
    }
  }
  return out;
}

// Returns the schema of a member for which several entries have different schemas.
OrderedJson any_of(const OrderedJson& schemas) {
  if (schemas.size() == 1) return schemas.front();
  return {{"anyOf", schemas}};
}

}  // namespace

OrderedJson definition_reference(const std::string& definition) {
  return {{"$ref", fmt::format("#/definitions/{}", definition)}};
}

OrderedJson comments() {
  return {{R"(^(//|\$schema$))", OrderedJson::object()}};
}

OrderedJson field_schema(const Json& field, Standing standing) {
  OrderedJson out = OrderedJson::object();
  if (const std::string effect = field.value("effect", ""); !effect.empty()) out["description"] = effect;
  if (const Json fallback = field.value("default", Json()); !fallback.is_null()) out["default"] = fallback;
  if (field.contains("registry")) {
    out["allOf"] = OrderedJson::array({definition_reference(field["registry"])});
    return out;
  }
  OrderedJson value = field.value("list", false)
                          ? OrderedJson{{"type", "array"}, {"items", value_schema(field, Standing::element)}}
                          : value_schema(field, standing);
  if (standing == Standing::member || field.value("nullable", false)) allow_null(value);
  out.update(value);
  return out;
}

OrderedJson object_schema(const Json& fields, Standing standing) {
  OrderedJson properties = OrderedJson::object();
  OrderedJson required = OrderedJson::array();
  for (const Json& field : fields) {
    properties[field.at("key").get<std::string>()] = field_schema(field, standing);
    if (field.value("required", false)) required.push_back(field["key"].get<std::string>());
  }
  OrderedJson out = {{"properties", properties}};
  if (standing == Standing::element && !required.empty()) out["required"] = required;
  out["patternProperties"] = comments();
  out["additionalProperties"] = false;
  return out;
}

namespace {

// Returns the options with those that hold another entry of the registry marked as such.
Json within_registry(Json options, const std::string& registry) {
  for (Json& option : options) {
    if (option.value("type", "") == "implementation") option["registry"] = registry;
  }
  return options;
}

}  // namespace

std::string unnamed_definition(const std::string& registry) {
  return registry + "_unnamed";
}

void define_registry(OrderedJson& definitions, const std::string& registry, const std::string& selector,
                     const Json& entries) {
  OrderedJson names = OrderedJson::array();
  OrderedJson summaries = OrderedJson::array();
  OrderedJson choices = OrderedJson::array();
  OrderedJson schemas_of = {{selector, OrderedJson::array({OrderedJson::object()})}};  // by option
  for (const auto& [name, entry] : entries.items()) {
    names.push_back(name);
    summaries.push_back(entry.value("summary", ""));
    OrderedJson options = object_schema(within_registry(entry.at("options"), registry));
    for (const auto& [key, schema] : options["properties"].items()) {
      OrderedJson& known = schemas_of[key];
      if (std::ranges::find(known, schema) == known.end()) known.push_back(schema);
    }
    options["properties"][selector] = OrderedJson::object();
    definitions[registry + "." + name] = options;
    choices.push_back({{"if",
                        {{"type", "object"},
                         {"required", OrderedJson::array({selector})},
                         {"properties", {{selector, {{"const", name}}}}}}},
                       {"then", definition_reference(registry + "." + name)}});
  }
  OrderedJson unnamed = {{"properties", OrderedJson::object()},
                         {"patternProperties", comments()},
                         {"additionalProperties", false}};
  for (const auto& [key, schemas] : schemas_of.items()) unnamed["properties"][key] = any_of(schemas);
  definitions[unnamed_definition(registry)] = unnamed;
  // The options of an implementation in a Python file are known only when it is loaded.
  const OrderedJson in_script = {{"type", "string"}, {"pattern", R"([^/]\.py:[^:]+$)"}};
  const OrderedJson named = {{"anyOf", OrderedJson::array({{{"enum", names}}, in_script})}};
  choices.push_back({{"if",
                      {{"type", "object"},
                       {"required", OrderedJson::array({selector})},
                       {"properties", {{selector, named}}}}},
                     {"then", OrderedJson::object()},
                     {"else", definition_reference(unnamed_definition(registry))}});
  const OrderedJson shipped = {{"type", "string"}, {"enum", names}, {"enumDescriptions", summaries}};
  definitions[registry] = {
      {"type", {"object", "null"}},
      {"properties", {{selector, {{"anyOf", OrderedJson::array({shipped, in_script})}}}}},
      {"allOf", choices}};
}

}  // namespace thinpipe
