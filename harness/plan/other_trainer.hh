// A program that trains in thinpipe-trainer's place, as an experiment describes it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/support/options.hh"

namespace thinpipe {

struct OtherTrainer {
  std::string program;
  std::optional<std::string> method;
  std::vector<std::string> files;

  void visit(auto& field) {
    field("program", program,
          Rule{.effect = "a shipped one by its name, or the path of one from the experiment's folder",
               .required = true});
    field(
        "method", method,
        Rule{.effect = "what its workers exchange by, for reports and for the trainer: runs of \"dense\" and "
                       "\"fp16\" are baselines of its other methods; null: the program's name"});
    field("files", files,
          Rule{.effect = "what else it is made of, files and folders from the experiment's folder: runs with "
                         "other contents of these are other runs"});
  }

  // One of the user's own: paths have an ending. A shipped one goes by its name, as our own code does.
  bool is_own() const { return std::filesystem::path(program).has_extension(); }
};

// Throws InputError where a shipped one is told what it knows itself, or a file is missing.
void check_other_trainer(const OtherTrainer& trainer, const std::filesystem::path& folder,
                         const Place& place);

// The content of its files and folders: their paths in these, and their bytes. Byte code that Python leaves
// beside its modules (__pycache__) is none of it.
std::string content_hash_of_files(const OtherTrainer& trainer, const std::filesystem::path& folder);

// The name by which reports know the method of a run with this "trainer"; nullopt if it goes by its
// synchroniser.
std::optional<std::string> method_of_trainer(const Json& trainer);

}  // namespace thinpipe
