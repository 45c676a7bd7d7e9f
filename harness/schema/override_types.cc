// SPDX-License-Identifier: Apache-2.0
#include "harness/schema/override_types.hh"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "harness/plan/controller_options.hh"
#include "harness/plan/trainer_program.hh"

namespace thinpipe {
namespace {

// The descriptions that apply to one value; see describe_options and describe_training_config.
using Descriptions = std::vector<Json>;

void add_fields(const Json& fields, const std::string& key, Descriptions& out) {
  for (const Json& field : fields) {
    if (field.at("key") == key) out.push_back(field);
  }
}

// Adds the options of that key of all entries of the registry.
void add_registry_options(const Json& value, const std::string& key, const Json& trainer, Descriptions& out) {
  const std::string selector = value.at("selector");
  if (key == selector) out.push_back({{"type", "string"}});
  for (const auto& [name, entry] : trainer.at(value.at("registry").get<std::string>()).items()) {
    const std::size_t before = out.size();
    add_fields(entry.at("options"), key, out);
    for (std::size_t i = before; i < out.size(); ++i) {
      if (out[i].value("type", "") != "implementation") continue;
      out[i]["registry"] = value["registry"];
      out[i]["selector"] = selector;
    }
  }
}

// Adds the descriptions of the member of that key. Elements of lists have no path.
void add_members(const Json& value, const std::string& key, const Json& trainer, Descriptions& out) {
  if (value.value("list", false)) return;
  for (const Json& form : value.value("any_of", Json::array())) add_members(form, key, trainer, out);
  if (value.contains("options")) add_fields(value["options"], key, out);
  if (value.contains("registry")) add_registry_options(value, key, trainer, out);
}

void add_types(const Json& value, std::set<std::string>& types) {
  if (value.value("list", false)) {
    types.insert("list");
  } else if (value.contains("any_of")) {
    for (const Json& form : value["any_of"]) add_types(form, types);
  } else if (value.contains("options") || value.contains("registry")) {
    types.insert("object");
  } else {
    types.insert(value.value("type", ""));
  }
}

bool is_text_by(const Json& fields, const Json& trainer, const std::vector<std::string>& keys) {
  Descriptions values;
  add_fields(fields, keys.front(), values);
  for (std::size_t i = 1; i < keys.size(); ++i) {
    Descriptions members;
    for (const Json& value : values) add_members(value, keys[i], trainer, members);
    values = std::move(members);
  }
  std::set<std::string> types;
  for (const Json& value : values) add_types(value, types);
  return types == std::set<std::string>{"string"};
}

}  // namespace

IsText described_text(std::function<Json()> describe_trainer) {
  const auto described = std::make_shared<Json>();
  return [described, describe_trainer = std::move(describe_trainer)](const std::vector<std::string>& keys) {
    const std::vector<std::string>& own = controller_option_keys();
    if (std::ranges::find(own, keys.front()) != own.end())
      return is_text_by(describe_controller_options(), nullptr, keys);
    if (described->is_null()) *described = describe_trainer();
    return is_text_by(described->at("configuration"), *described, keys);
  };
}

IsText described_text() {
  return described_text([] { return TrainerProgram::find().describe(); });
}

}  // namespace thinpipe
