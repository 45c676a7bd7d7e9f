// Paths of the files and programs that tests use.
#pragma once

#include <string>
#include <string_view>

namespace thinpipe {

// A file or folder of the source tree: source_path("topologies/three-switch.json").
std::string source_path(std::string_view path);

// A program of the build that the test belongs to: built_program("thinpipe").
std::string built_program(std::string_view name);

}  // namespace thinpipe
