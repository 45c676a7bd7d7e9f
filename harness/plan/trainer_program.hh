// SPDX-License-Identifier: Apache-2.0
// The worker program, thinpipe-trainer: finds it, and has it check and describe configurations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/support/conversation.hh"
#include "common/support/json_object.hh"

namespace thinpipe {

// An error in a configuration, or something that it needs and this machine lacks.
struct Remark {
  std::string pointer;  // the place in the given configuration
  std::string message;
};

// The trainer's check of one training configuration.
struct CheckedConfig {
  bool ok = false;
  Json config;  // normalised, every default filled in
  Json plan;    // of trainer/commands/check.hh; null if it needs something that is missing
  // Hashes of the files that it names, each under the pointer to its path; null if the file is missing.
  Json content = Json::object();
  std::vector<Remark> missing;  // a GPU, data or weights
  Remark wrong;                 // if not ok
};

class TrainerProgram {
 public:
  // Finds the program that the environment variable THINPIPE_TRAINER names, or else the one beside this
  // executable. Throws Error with both remedies if it is missing.
  static TrainerProgram find();
  explicit TrainerProgram(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // Measures one worker's iteration on the otherwise idle machine. Returns {"compute_s", "memory_bytes"}.
  Json cost(const Json& config) const;

  // Has Python examine a communication hook, {"name": "mine.py:hook", options…}. Returns what is wrong, at a pointer
  // below it; nullopt if it can be used.
  std::optional<Remark> check_hook(const Json& hook) const;

  // Returns {"synchronisers": {name: {"summary", "options"}}, "models": …, "datasets": …, "collectives": …,
  // "libraries": …}
  Json describe() const;

 private:
  Json ask(const std::string& command, const std::string& input) const;

  std::string path_;
};

// A running `thinpipe-trainer check`. The trainer keeps data, and the last model and its mask, between
// configurations, so one that shares them with the previous one takes little time.
class ConfigChecker {
 public:
  explicit ConfigChecker(const TrainerProgram& trainer) : trainer_({trainer.path(), "check", "--lines"}) {}

  // Asks the trainer to check a training configuration, given as the text of a JSON object in one line. It may
  // still be checking an earlier one.
  void ask(const std::string& config) { trainer_.send_line(config); }

  // Returns the answer to the first question that has none yet. Throws Error if the trainer itself fails.
  CheckedConfig answer();

  // Does both.
  CheckedConfig check(const std::string& config) {
    ask(config);
    return answer();
  }

 private:
  Conversation trainer_;
};

}  // namespace thinpipe
