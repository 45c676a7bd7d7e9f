// SPDX-License-Identifier: Apache-2.0
// External trainer: a program or a command that replaces thinpipe-trainer, as an experiment describes it.
//
//   "trainer": "mine.py"                                              speaks our protocol (docs/reference/trainers.md)
//   "trainer": {"command": ["python3", "train.py", "--lr", "{lr}"],   any training script
//               "options": {"lr": 0.1}, "method": "mine"}
//   "trainer": {"program": "pytorch-ddp", "hook": "mine.py:hook"}     a communication hook of the user's
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/support/options.hh"
#include "harness/experiment/bundled_files.hh"
#include "harness/experiment/communication_hook.hh"

namespace thinpipe {

// Patterns that find the points of a command's curve in its output.
struct CurvePatterns {
  std::optional<std::string> iteration = {};
  std::optional<std::string> epoch = {};
  std::optional<std::string> train_loss = {};
  std::optional<std::string> test_loss = {};
  std::optional<std::string> test_accuracy = {};

  void visit(auto& field) {
    field("iteration", iteration,
          Rule{.effect = "number of iterations done, counted over the whole run; needed by the others"});
    field("epoch", epoch, Rule{.effect = "passes over the training data"});
    field("train_loss", train_loss, Rule{.effect = "training loss"});
    field("test_loss", test_loss,
          Rule{.effect =
                   "test loss; without \"test_accuracy\", a line that matches ends a point of the curve"});
    field(
        "test_accuracy", test_accuracy,
        Rule{.effect = "share of test examples that are classified correctly, from 0 to 1, or followed by %; "
                       "a line that matches ends a point of the curve"});
  }

  bool empty() const { return !iteration && !epoch && !train_loss && !test_loss && !test_accuracy; }
};

struct ExternalTrainer {
  static constexpr std::string_view shorthand = "program";

  std::string program;               // empty for a command
  std::vector<std::string> command;  // empty for a program
  std::optional<std::string> method;
  std::vector<std::string> files;
  Json options = Json::object();  // of any names and values
  std::optional<std::vector<std::string>> inputs;
  CurvePatterns curve;
  std::optional<CommunicationHook> hook;

  void visit(auto& field) {
    field("program", program,
          Rule{.effect = "name of a shipped one, or path relative to the experiment's folder",
               .file_names = bundled_trainers().names()});
    field(
        "command", command,
        Rule{.effect = "instead of a program, any training script: its command line, run in the experiment's "
                       "folder with torchrun's environment. {lr} stands for an option, {method}, {seed}, "
                       "{rank} and {world_size} for themselves, {{ and }} for braces"});
    field(
        "method", method,
        Rule{
            .effect =
                "name of its method, for reports and for the trainer: runs with \"dense\" and "
                "\"fp16\" are baselines of its other methods; null: the program's, script's or hook's name"});
    field("files", files,
          Rule{.effect = "further files and folders of a program, relative to the experiment's folder: "
                         "their content is part of a run's identity"});
    field("options", options, Rule{.effect = "options of a command, of any names and values"});
    field("inputs", inputs,
          Rule{.effect = "patterns of the files whose content is part of the identity of a command's runs, "
                         "relative to the experiment's folder, such as \"*.py\" or \"lib/**\"; null: the "
                         "script, and every Python file below its folder"});
    field("curve", curve,
          Rule{.effect = "regular expressions, each with one group for a number, that find the curve in the "
                         "output of a command's rank 0, unless it calls thinpipe.report"});
    field("hook", hook,
          Rule{.effect =
                   "communication hook of the user's for the program pytorch-ddp, instead of its all-reduce: "
                   "FILE.py:FUNCTION, or {\"name\": FILE.py:FUNCTION, options of the function}"});
  }

  bool is_command() const { return !command.empty(); }
  // Returns whether it is the user's own, named by a path. A bundled one is named without an ending.
  bool is_own() const { return std::filesystem::path(program).has_extension(); }
};

// Throws InputError if it is neither a program nor a command, or if a member is for the other of the two; if a
// bundled trainer has "files", or a "method" without a hook; if another trainer than pytorch-ddp has a hook; or if a
// file is missing.
void check_external_trainer(const ExternalTrainer& trainer, const std::filesystem::path& folder,
                            const Place& place);

// Returns a hash of its files and folders: of the paths in these and the bytes. Python's byte code
// (__pycache__) does not count.
std::string content_hash_of_files(const ExternalTrainer& trainer, const std::filesystem::path& folder);

// Returns the method's name in reports of a run with this "trainer"; nullopt if it is that of the
// synchroniser.
std::optional<std::string> method_of_trainer(const Json& trainer);

}  // namespace thinpipe
