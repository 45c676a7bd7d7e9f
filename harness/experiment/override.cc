#include "harness/experiment/override.hh"

#include <set>

#include <fmt/format.h>

#include "harness/experiment/merge.hh"

namespace thinpipe {
namespace {

// Collects the schemas that apply to the same value: references, alternatives, branches.
void collect(const Json& schema, const Json& root, std::vector<const Json*>& out) {
  out.push_back(&schema);
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    collect(root.at(Json::json_pointer(reference->get<std::string>().substr(1))), root, out);
  }
  for (const char* keyword : {"allOf", "anyOf"}) {
    if (!schema.contains(keyword)) continue;
    for (const Json& part : schema[keyword]) collect(part, root, out);
  }
  for (const char* keyword : {"then", "else"}) {
    if (schema.contains(keyword)) collect(schema[keyword], root, out);
  }
}

// Returns the types that the schema allows for the value at the path; empty if it has no such path.
std::set<std::string> types_at(const std::vector<std::string>& keys, const Json& schema) {
  std::vector<const Json*> found;
  collect(schema.at("definitions").at("configuration"), schema, found);
  for (const std::string& key : keys) {
    std::vector<const Json*> members;
    for (const Json* object : found) {
      if (!object->contains("properties") || !(*object)["properties"].contains(key)) continue;
      collect((*object)["properties"][key], schema, members);
    }
    found = std::move(members);
  }
  std::set<std::string> types;
  for (const Json* value : found) {
    const Json type = value->value("type", Json::array());
    for (const Json& one : type.is_array() ? type : Json::array({type})) types.insert(one);
  }
  return types;
}

bool takes_only_text(const std::vector<std::string>& keys, const Json& schema) {
  if (schema.is_null()) return false;
  std::set<std::string> types = types_at(keys, schema);
  types.erase("null");
  return types == std::set<std::string>{"string"};
}

}  // namespace

Layer parse_override(const std::string& assignment, const Json& experiment_schema) {
  const Place place{fmt::format("--set {}", assignment), ""};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) throw InputError(place, "must be written path=value");
  const std::vector<std::string> keys = path_keys(assignment.substr(0, equals), place);
  const std::string text = assignment.substr(equals + 1);
  // JSON is read as strictly as a file; anything else is a string.
  Json value = Json::accept(text) ? parse_json(text, place.file) : Json(text);
  if (!value.is_string() && !value.is_null() && takes_only_text(keys, experiment_schema)) value = text;
  return {nested(keys, value), place, keys};
}

}  // namespace thinpipe
