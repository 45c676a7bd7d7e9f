// SPDX-License-Identifier: Apache-2.0
// The files that a user's Python code consists of, and a hash of their contents for the run's identity.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "common/support/exception.hh"

namespace thinpipe {

// More files than any project's own code has: beyond this, a folder is a home folder or contains data.
inline constexpr std::size_t max_script_inputs = 2000;

// A folder has more files than max_script_inputs, or more folders than can be the user's own code. The message names
// the folder; the caller adds the remedy.
class TooManyInputs : public Error {
 public:
  using Error::Error;
};

// Returns every *.py file at and below the folder, sorted. Skips folders that contain other people's code or
// results: hidden ones, virtual environments (with a pyvenv.cfg), and those called __pycache__, site-packages or
// results. Follows no links to folders. Throws TooManyInputs.
std::vector<std::filesystem::path> python_files_below(const std::filesystem::path& folder);

// Returns the files that match one of the patterns, which are relative to `folder`: *, ? and [...] match within
// a name, ** any number of folders, also none. A folder stands for all files below it. Wildcards match no
// hidden names, and skip the same folders as above. Sorted, each file once. Throws InputError at an element of
// `place`, the list's, if a pattern matches nothing or too much.
std::vector<std::filesystem::path> files_matching(const std::vector<std::string>& patterns,
                                                  const std::filesystem::path& folder, const Place& place);

// Returns a hash of the files: of their paths relative to `folder`, so that it may be moved, and of their
// bytes. The order of the files does not matter.
std::string content_hash_of_files(const std::vector<std::filesystem::path>& files,
                                  const std::filesystem::path& folder);

}  // namespace thinpipe
