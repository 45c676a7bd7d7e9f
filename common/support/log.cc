// SPDX-License-Identifier: Apache-2.0
#include "common/support/log.hh"

#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace thinpipe {
namespace {

Log make_log(spdlog::sink_ptr sink, const std::string& level) {
  auto log = std::make_shared<spdlog::logger>("", std::move(sink));
  log->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %-7l %v",
                                                                 spdlog::pattern_time_type::utc));
  log->set_level(spdlog::level::from_str(level));
  log->flush_on(spdlog::level::trace);
  return log;
}

}  // namespace

const std::vector<std::string>& log_levels() {
  static const std::vector<std::string> levels = {"debug", "info", "warning", "error"};
  return levels;
}

Log make_log_to_standard_error(const std::string& level) {
  return make_log(std::make_shared<spdlog::sinks::stderr_sink_mt>(), level);
}

Log make_log_to_file(const std::filesystem::path& file, const std::string& level) {
  return make_log(std::make_shared<spdlog::sinks::basic_file_sink_mt>(file), level);
}

}  // namespace thinpipe
