// SPDX-License-Identifier: Apache-2.0
// The Python package thinpipe that training scripts find.
#pragma once

#include <filesystem>
#include <string>

namespace thinpipe {

// Returns the folder for the PYTHONPATH of a script whose command begins with `program` and runs in `folder`.
// If that is the Python for which the package's extension was built, the package is whole. Otherwise it lacks
// the extension, which would not fit: thinpipe/__init__.py then finds the one that pip has installed.
std::filesystem::path python_package_for(const std::string& program, const std::filesystem::path& folder);

}  // namespace thinpipe
