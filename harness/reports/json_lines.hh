// SPDX-License-Identifier: Apache-2.0
// Reads the files of a run that hold one JSON object per line.
#pragma once

#include <filesystem>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// Returns the objects up to the last line feed: a line after it is incomplete, because the run was killed or proceeds.
// Empty if there is no file. Throws InputError naming the line if it is no JSON object.
std::vector<Json> read_json_lines(const std::filesystem::path& path);

}  // namespace thinpipe
