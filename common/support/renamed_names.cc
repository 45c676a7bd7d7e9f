// SPDX-License-Identifier: Apache-2.0
#include "common/support/renamed_names.hh"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "renamed_names_table.hh"

namespace thinpipe {
namespace {

using nlohmann::json;

std::vector<std::string> keys_of(std::string_view path) {
  std::vector<std::string> keys;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    keys.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return keys;
}

// Calls `change` with each object that has the member at the end of the path.
void for_each_holder(json& value, std::span<const std::string> path,
                     const std::function<void(json& object)>& change) {
  if (!value.is_structured()) return;
  const std::string& key = path.front();
  if (path.size() == 1) {
    if (value.is_object() && value.contains(key)) change(value);
  } else if (key == "*" || key == "**") {
    if (key == "**") for_each_holder(value, path.subspan(1), change);
    for (json& child : value) for_each_holder(child, key == "**" ? path : path.subspan(1), change);
  } else if (value.is_object() && value.contains(key)) {
    for_each_holder(value[key], path.subspan(1), change);
  }
}

void rename_member(json& object, const std::string& from, const std::string& to,
                   const std::map<std::string, std::string>& values) {
  json member = std::move(object[from]);
  object.erase(from);
  if (member.is_string()) {
    const auto value = values.find(member.get<std::string>());
    if (value != values.end()) member = value->second;
  }
  object[to] = std::move(member);
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

RenamedNames::Renamed RenamedNames::parse_renamed(const json& entry) {
  Renamed renamed{.at = keys_of(entry.at("at").get<std::string>()), .name = {}, .values = {}};
  renamed.name = entry.value("name", renamed.at.back());
  if (entry.contains("values")) entry.at("values").get_to(renamed.values);
  return renamed;
}

RenamedNames::Renamed RenamedNames::reversed(const Renamed& renamed) {
  Renamed out{.at = renamed.at, .name = renamed.at.back(), .values = {}};
  out.at.back() = renamed.name;
  for (const auto& [old, current] : renamed.values) out.values.emplace(current, old);
  return out;
}

RenamedNames::RenamedNames(const json& table) {
  table.at("configuration_at").get_to(configuration_at_);
  for (const json& entry : table.at("changes")) {
    Change& change = changes_.emplace_back();
    entry.at("schema_versions").get_to(change.schema_versions);
    for (const auto& [kind, list] : entry.at("renamed").items()) {
      std::ranges::transform(list, std::back_inserter(change.renamed[kind]), parse_renamed);
    }
  }
  for (const Change& change : changes_)
    std::ranges::transform(change.of("configuration"), std::back_inserter(backward_), reversed);
  std::ranges::reverse(backward_);
}

const RenamedNames::List& RenamedNames::Change::of(const std::string& kind) const {
  static const List none;
  const auto found = renamed.find(kind);
  return found == renamed.end() ? none : found->second;
}

void RenamedNames::apply(const List& list, json& value) {
  for (const Renamed& entry : list) {
    for_each_holder(value, entry.at, [&entry](json& object) {
      rename_member(object, entry.at.back(), entry.name, entry.values);
    });
  }
}

void RenamedNames::upgrade(json& document, const std::string& kind) const {
  const auto version = document.at("schema_version").get<std::int64_t>();
  for (const Change& change : changes_) {
    const auto since = change.schema_versions.find(kind);
    if (since == change.schema_versions.end() || version >= since->second) continue;
    apply(change.of(kind), document);
    const json::json_pointer at(configuration_at_.at(kind));
    if (document.contains(at)) apply(change.of("configuration"), document[at]);
  }
}

json RenamedNames::with_first_names(json configuration) const {
  apply(backward_, configuration);
  return configuration;
}

std::optional<std::string> RenamedNames::current_name(std::string_view old,
                                                      const std::vector<std::string>& known) const {
  for (const Change& change : changes_) {
    for (const auto& [kind, list] : change.renamed) {
      for (const Renamed& entry : list) {
        if (entry.at.back() == old && entry.name != old && has(known, entry.name)) return entry.name;
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> RenamedNames::current_value(std::string_view old,
                                                       const std::vector<std::string>& known) const {
  for (const Change& change : changes_) {
    for (const auto& [kind, list] : change.renamed) {
      for (const Renamed& entry : list) {
        const auto value = entry.values.find(std::string(old));
        if (value != entry.values.end() && has(known, value->second)) return value->second;
      }
    }
  }
  return std::nullopt;
}

const RenamedNames& renamed_names() {
  static const RenamedNames names(json::parse(renamed_names_json));
  return names;
}

}  // namespace thinpipe
