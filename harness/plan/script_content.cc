// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/script_content.hh"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "common/support/file_descriptor.hh"
#include "harness/plan/run_id.hh"
#include "harness/plan/script_inputs.hh"

namespace thinpipe {
namespace {

// Returns whether another file of the folder contains the implementation's name, and so may define another one. Only
// then is the file's name a part of the identity: the ids of other runs stay valid.
bool occurs_in_another_file(const ScriptName& script, const std::vector<std::filesystem::path>& files) {
  return std::ranges::any_of(files, [&](const std::filesystem::path& file) {
    return file.parent_path() == script.file.parent_path() && file != script.file &&
           read_file(file).find(script.object) != std::string::npos;
  });
}

Error changed(const std::string& what) {
  return Error(what +
               " has changed since the experiment was planned; start it again to run the changed files");
}

// Returns the entries of the user's code in the contents of the setting and the training, as they are now.
Json code_of(const Run& run) {
  const ExternalTrainer& trainer = run.external_trainer;
  Json content = Json::object();
  ScriptContent scripts;
  scripts.add_to(content, run.training->config);
  if (!trainer.hook && !trainer.is_own()) return content;
  const Json& config = run.setting->config.at("trainer");
  if (trainer.hook) scripts.add_to(content, {{"trainer", config}});
  if (trainer.is_own()) {
    content[config.is_object() ? "/trainer/program" : "/trainer"] = content_hash_of_file(*run.trainer);
    if (!trainer.files.empty())
      content["/trainer/files"] = content_hash_of_files(trainer, run.written_folder);
  }
  return content;
}

// The entries of the data set's content (CheckedConfig::content), of which a run has one or, if its options
// decide the content, none. The first is of data from a function.
constexpr std::array data_entries = {"/dataset/content", "/dataset/directory", "/dataset/path"};

}  // namespace

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
    content[member_place.pointer] = identity_of(*script, member_place);
  }
}

const std::string& ScriptContent::identity_of(const ScriptName& script, const Place& place) {
  const auto known = identities_.find(script.text());
  if (known != identities_.end()) return known->second;
  const std::filesystem::path folder = script.file.parent_path();
  try {
    const auto files = python_files_below(folder);
    const std::string hash = content_hash_of_files(files, folder);
    const std::string name = occurs_in_another_file(script, files)
                                 ? fmt::format("{}:{}", script.file.filename().string(), script.object)
                                 : script.object;
    return identities_.emplace(script.text(), fmt::format("{}:{}", hash, name)).first->second;
  } catch (const TooManyInputs& error) {
    throw InputError(
        place, fmt::format("the run's identity includes the Python files below the file's folder, but {}; "
                           "move the file to a folder of its own",
                           error.what()));
  }
}

void check_code_is_as_planned(const Run& run) {
  if (run.runs_command()) {
    const std::string planned = run.setting->config.at("trainer").at("inputs_hash");
    if (content_hash_of_files(run.inputs, run.folder) != planned)
      throw changed("a file of the trainer's command");
    return;
  }
  Json planned = run.training->content;
  planned.update(run.setting->content);
  const Json found = code_of(run);
  for (const auto& [pointer, hash] : found.items()) {
    if (planned.at(pointer) != hash) throw changed(fmt::format("the code of {}", pointer));
  }
}

void check_data_are_as_planned(const Run& run, const std::string& hash) {
  const Json& planned = run.training->content;
  for (const char* const entry : data_entries) {
    const auto found = planned.find(entry);
    if (found == planned.end() || found->is_null() || *found == hash) continue;
    if (entry != data_entries.front()) throw changed("the content of " + std::string(entry));
    throw Error(std::string(changed("what the function of /dataset/name returns").what()) +
                "; if no file has changed, the function must seed whatever it draws");
  }
}

}  // namespace thinpipe
