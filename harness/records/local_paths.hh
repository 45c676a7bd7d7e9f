// SPDX-License-Identifier: Apache-2.0
// Takes the paths of one machine out of a record. Records are shared and compared: the folder in which a run happened
// to lie, and the name of its user, are no part of a result.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// All absolute. An empty path, and the root, stand for no folder.
struct LocalFolders {
  std::filesystem::path results = {};     // of the experiment
  std::filesystem::path experiment = {};  // in which its file is
  std::filesystem::path current = {};     // of the program
  std::filesystem::path temporary = {};
  std::filesystem::path home = {};
};

// Returns the folders of this process for an experiment.
LocalFolders local_folders(const std::filesystem::path& results, const std::filesystem::path& experiment);

class LocalPaths {
 public:
  explicit LocalPaths(LocalFolders folders);

  // Returns the record's JSON without these folders. A path of the configuration becomes relative to the experiment's
  // folder, as the reader of experiments takes it. Elsewhere a path, also within a text, becomes relative to the
  // innermost of the first three folders, or begins with $TMPDIR or ~. Paths outside stay, such as those of installed
  // libraries.
  Json without(Json record) const;

 private:
  std::string in_text(std::string text) const;
  std::string in_config(std::string text) const;

  LocalFolders folders_;
  std::vector<std::pair<std::string, std::string>>
      names_;  // a folder's path, and the text for it; longest first
};

}  // namespace thinpipe
