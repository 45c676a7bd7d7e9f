// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/merge.hh"

#include <algorithm>
#include <utility>

namespace thinpipe {
namespace {

bool names_another(const Json& target, const Json& patch) {
  return target.is_object() && target.contains("name") && patch.contains("name") &&
         target["name"] != patch["name"];
}

}  // namespace

void merge(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object() || names_another(target, patch)) target = Json::object();
  for (const auto& [key, value] : patch.items()) {
    if (key.starts_with("//") || key == "$schema") continue;
    if (value.is_null()) {
      target.erase(key);
    } else {
      merge(target[key], value);
    }
  }
}

Json nested(const std::vector<std::string>& keys, const Json& value) {
  Json out = value;
  for (std::size_t i = keys.size(); i > 0; --i) out = Json{{keys[i - 1], std::move(out)}};
  return out;
}

std::optional<std::vector<std::string>> split_path(std::string_view dotted) {
  std::vector<std::string> keys;
  for (std::size_t begin = 0; begin <= dotted.size();) {
    const std::size_t end = std::min(dotted.find('.', begin), dotted.size());
    if (end == begin) return std::nullopt;
    keys.emplace_back(dotted.substr(begin, end - begin));
    begin = end + 1;
  }
  return keys;
}

std::vector<std::string> pointer_keys(std::string_view pointer) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      keys.emplace_back();
    } else if (pointer[i] == '~' && i + 1 < pointer.size()) {
      keys.back() += pointer[++i] == '1' ? '/' : '~';
    } else if (!keys.empty()) {
      keys.back() += pointer[i];
    }
  }
  return keys;
}

}  // namespace thinpipe
