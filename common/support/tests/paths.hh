// SPDX-License-Identifier: Apache-2.0
// Paths of the files and programs that tests use.
#pragma once

#include <string>
#include <string_view>

namespace thinpipe {

// Returns the path of a file or folder of the source tree: source_path("topologies/three-switch.json").
std::string source_path(std::string_view path);

// Returns the path of a program in the test's own build: built_program("thinpipe").
std::string built_program(std::string_view name);

}  // namespace thinpipe
