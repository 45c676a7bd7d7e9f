// SPDX-License-Identifier: Apache-2.0
// Identifies implementations in Python files, such as "my_method.py:MyTopK", by their content, and checks that the
// user's code and data have not changed since.
#pragma once

#include <map>
#include <string>

#include "common/support/json_object.hh"
#include "common/support/registry.hh"
#include "harness/plan/run.hh"

namespace thinpipe {

class ScriptContent {
 public:
  // Adds to `content` (CheckedConfig::content) an entry for each member "name" of `config`, at any depth, that
  // names an implementation in a Python file: a hash of every Python file below the file's folder, which it may
  // import, and the implementation's name, with its file's if another file contains that name. Throws InputError at the
  // member if there are too many files.
  void add_to(Json& content, const Json& config);

 private:
  void add_below(const Place& place, const Json& value, Json& content);
  const std::string& identity_of(const ScriptName& script, const Place& place);

  std::map<std::string, std::string> identities_;  // by the script's text
};

// Throws Error if the user's code is not what the run's id stands for: its command's inputs, its own trainer with its
// files, and Python files. The user may edit them while a sweep runs.
void check_code_is_as_planned(const Run& run);

// Throws Error if the data that the workers have loaded are not those that the run's id stands for. hash: of
// their content, as the trainer reports it.
void check_data_are_as_planned(const Run& run, const std::string& hash);

}  // namespace thinpipe
