// SPDX-License-Identifier: Apache-2.0
// Identifies implementations in Python files, such as "my_method.py:MyTopK", by their content.
#pragma once

#include <map>
#include <string>

#include "common/support/json_object.hh"
#include "common/support/registry.hh"

namespace thinpipe {

class ScriptContent {
 public:
  // Adds to `content` (CheckedConfig::content) an entry for each member "name" of `config`, at any depth, that
  // names an implementation in a Python file: a hash of every Python file below the file's folder, which it may
  // import, and the implementation's name, with its file's if another file contains that name. Throws InputError at the member if there are too many files.
  void add_to(Json& content, const Json& config);

 private:
  void add_below(const Place& place, const Json& value, Json& content);
  const std::string& identity_of(const ScriptName& script, const Place& place);

  std::map<std::string, std::string> identities_;  // by the script's text
};

}  // namespace thinpipe
