// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/script_content.hh"

#include <fmt/format.h>

#include "common/support/registry.hh"
#include "harness/plan/script_inputs.hh"

namespace thinpipe {

void ScriptContent::add_to(Json& content, const Json& config) {
  add_below({}, config, content);
}

void ScriptContent::add_below(const Place& place, const Json& value, Json& content) {
  if (!value.is_structured()) return;
  for (const auto& [key, member] : value.items()) {
    const Place member_place = value.is_array() ? place / std::stoul(key) : place / key;
    add_below(member_place, member, content);
    if (key != "name" || !member.is_string()) continue;
    const auto script = parse_script_name(member.get<std::string>());
    if (!script) continue;
    content[member_place.pointer] =
        fmt::format("{}:{}", hash_of(script->file.parent_path(), member_place), script->object);
  }
}

const std::string& ScriptContent::hash_of(const std::filesystem::path& folder, const Place& place) {
  const auto known = hashes_.find(folder);
  if (known != hashes_.end()) return known->second;
  try {
    return hashes_.emplace(folder, content_hash_of_files(python_files_below(folder), folder)).first->second;
  } catch (const TooManyInputs& error) {
    throw InputError(
        place, fmt::format("the run's identity includes the Python files below the file's folder, but {}; "
                           "move the file to a folder of its own",
                           error.what()));
  }
}

}  // namespace thinpipe
