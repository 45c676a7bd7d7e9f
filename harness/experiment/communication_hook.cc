// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/communication_hook.hh"

#include <fmt/format.h>

#include "common/support/registry.hh"

namespace thinpipe {

namespace fs = std::filesystem;

void read_value(const Json& value, const Place& place, const Rule& rule, CommunicationHook& out) {
  out = {};
  out.is_text = value.is_string();
  if (out.is_text) return read_value(value, place, rule, out.name);
  if (!value.is_object()) throw InputError(place, "must be a string or an object, but is " + value.dump());
  JsonObject object(value, place);
  object.read("name", out.name, {.required = true});
  for (const auto& [key, option] : value.items()) {
    if (key != "name" && !key.starts_with("//")) out.options[key] = option;
  }
}

Json to_json(const CommunicationHook& hook) {
  Json out = hook.options;
  out["name"] = hook.name;
  return out;
}

void locate_hook(CommunicationHook& hook, const fs::path& folder, const Place& place) {
  const Place name_place = place_in(hook, place, "/name");
  auto script = parse_script_name(hook.name);
  if (!script) {
    throw InputError(
        name_place,
        fmt::format("must be FILE.py:FUNCTION, such as \"mine.py:hook\", but is \"{}\"", hook.name));
  }
  script->file = fs::absolute(folder / script->file).lexically_normal();
  if (!fs::is_regular_file(script->file))
    throw InputError(name_place, fmt::format("the file {} does not exist", script->file.string()));
  hook.name = script->text();
}

std::string function_of(const CommunicationHook& hook) {
  const auto script = parse_script_name(hook.name);
  return script ? script->object : hook.name;
}

Place place_in(const CommunicationHook& hook, const Place& place, const std::string& pointer) {
  return hook.is_text ? place : Place{place.file, place.pointer + pointer};
}

}  // namespace thinpipe
