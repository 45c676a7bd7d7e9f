// SPDX-License-Identifier: Apache-2.0
// One log format for the controller and its workers, so that their lines can be merged and sorted by time:
//
//   2026-11-21T23:45:07.123Z info    trained 20 of 100 iterations
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <spdlog/logger.h>

namespace thinpipe {

using Log = std::shared_ptr<spdlog::logger>;

// Returns the names of the levels, most verbose first.
const std::vector<std::string>& log_levels();

// `level` is one of log_levels(). If a write fails, spdlog reports it on standard error.
Log make_log_to_standard_error(const std::string& level);
// Appends to the file and flushes it after each line.
Log make_log_to_file(const std::filesystem::path& file, const std::string& level);

}  // namespace thinpipe
