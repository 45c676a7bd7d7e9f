// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/external_trainer.hh"

#include <algorithm>

#include <fmt/format.h>

#include "harness/plan/run_id.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// Returns the regular files at and below a path, sorted.
std::vector<fs::path> files_at(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(path); entry != fs::recursive_directory_iterator();
       ++entry) {
    if (entry->is_directory() && entry->path().filename() == "__pycache__") entry.disable_recursion_pending();
    if (entry->is_regular_file()) files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

namespace {

// The bundled trainer that registers hooks.
constexpr std::string_view hook_program = "pytorch-ddp";

void check_hook_program(const ExternalTrainer& trainer, const Place& place) {
  if (!trainer.hook || trainer.program == hook_program) return;
  throw InputError(
      place / "hook",
      fmt::format("works only with the program {}, which registers it; another trainer registers its "
                  "hook itself: remove it",
                  hook_program));
}

// Refuses the members that are for the other kind of trainer.
void check_kind(const ExternalTrainer& trainer, const Place& place) {
  if (trainer.is_command() == !trainer.program.empty()) {
    throw InputError(place,
                     "needs either \"program\", an included or own trainer, or \"command\", the command "
                     "line of a training script");
  }
  if (trainer.is_command()) {
    if (!trainer.files.empty())
      throw InputError(place / "files", R"(works only with a "program"; a command's files are its "inputs")");
    return;
  }
  const auto refuse = [&place](const char* key) {
    throw InputError(place / key,
                     R"(works only with a "command": a program has an input file and "files", and )"
                     "reports its curve itself");
  };
  if (!trainer.options.empty()) refuse("options");
  if (trainer.inputs) refuse("inputs");
  if (!trainer.curve.empty()) refuse("curve");
}

void check_bundled(const ExternalTrainer& trainer, const Place& place) {
  const auto refuse = [&](const char* key) {
    throw InputError(place / key,
                     fmt::format("is for a trainer of your own: {} comes with thinpipe and is identified "
                                 "by its name and synchroniser",
                                 trainer.program));
  };
  if (trainer.method && !trainer.hook) refuse("method");
  if (!trainer.files.empty()) refuse("files");
}

}  // namespace

void check_external_trainer(const ExternalTrainer& trainer, const fs::path& folder, const Place& place) {
  check_kind(trainer, place);
  check_hook_program(trainer, place);
  if (!trainer.is_command() && !trainer.is_own()) check_bundled(trainer, place);
  if (trainer.method && trainer.method->empty())
    throw InputError(place / "method", "must not be empty; leave it out for the program's name");
  for (std::size_t i = 0; i < trainer.files.size(); ++i) {
    const fs::path path = folder / trainer.files[i];
    if (!fs::is_regular_file(path) && !fs::is_directory(path))
      throw InputError(place / "files" / i, fmt::format("{} is neither a file nor a folder", path.string()));
  }
}

std::string content_hash_of_files(const ExternalTrainer& trainer, const fs::path& folder) {
  Json content = Json::array();
  for (const std::string& name : trainer.files) {
    for (const fs::path& file : files_at(folder / name))
      content.push_back({content_hash(file.lexically_relative(folder).string()), content_hash_of_file(file)});
  }
  return content_hash(content.dump());
}

std::optional<std::string> method_of_trainer(const Json& trainer) {
  if (trainer.is_null()) return std::nullopt;
  if (trainer.is_object() && trainer.contains("command")) return trainer.at("method");
  const std::string program = trainer.is_object() ? trainer.at("program") : trainer;
  if (trainer.is_object() && trainer.contains("hook")) return trainer.at("method");
  if (!fs::path(program).has_extension()) return std::nullopt;
  const Json method = trainer.is_object() ? trainer.value("method", Json(nullptr)) : Json(nullptr);
  return method.is_string() ? method.get<std::string>() : fs::path(program).stem().string();
}

}  // namespace thinpipe
