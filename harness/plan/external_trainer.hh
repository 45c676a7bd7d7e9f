// External trainer: a program that replaces thinpipe-trainer, as an experiment describes it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/support/options.hh"
#include "harness/plan/bundled_files.hh"

namespace thinpipe {

struct ExternalTrainer {
  static constexpr std::string_view shorthand = "program";

  std::string program;
  std::optional<std::string> method;
  std::vector<std::string> files;

  void visit(auto& field) {
    field("program", program,
          Rule{.effect = "name of a shipped one, or path relative to the experiment's folder",
               .file_names = bundled_trainers().names(),
               .required = true});
    field("method", method,
          Rule{.effect = "name of its method, for reports and for the trainer: runs with \"dense\" and "
                         "\"fp16\" are baselines of its other methods; null: the program's name"});
    field("files", files,
          Rule{.effect = "further files and folders of the program, relative to the experiment's folder: "
                         "their content is part of a run's identity"});
  }

  // Returns whether it is the user's own, named by a path. A bundled one is named without an ending.
  bool is_own() const { return std::filesystem::path(program).has_extension(); }
};

// Throws InputError if a bundled trainer has a "method" or "files", or if a file is missing.
void check_external_trainer(const ExternalTrainer& trainer, const std::filesystem::path& folder,
                            const Place& place);

// Returns a hash of its files and folders: of the paths in these and the bytes. Python's byte code
// (__pycache__) does not count.
std::string content_hash_of_files(const ExternalTrainer& trainer, const std::filesystem::path& folder);

// Returns the method's name in reports of a run with this "trainer"; nullopt if it is that of the
// synchroniser.
std::optional<std::string> method_of_trainer(const Json& trainer);

}  // namespace thinpipe
