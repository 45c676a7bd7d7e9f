// Logs of one form in the controller and in its workers, so that their lines sort into one story:
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

// The names of levels, from the most talkative on.
const std::vector<std::string>& log_levels();

// `level` is one of log_levels(). What cannot be written is told on standard error, by spdlog.
Log make_log_to_standard_error(const std::string& level);
// Appends, and writes each line at once.
Log make_log_to_file(const std::filesystem::path& file, const std::string& level);

}  // namespace thinpipe
