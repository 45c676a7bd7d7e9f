// SPDX-License-Identifier: Apache-2.0
#include "harness/records/change_time.hh"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe {

std::optional<ChangeTime> change_time(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw SystemError("look up " + file.string(), errno);
  }
  return status.st_ctim.tv_sec * ChangeTime{1'000'000'000} + status.st_ctim.tv_nsec;
}

ChangeTime change_time_now(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) return before_all_changes;
  const std::filesystem::path probe = folder / fmt::format(".time.{}", ::getpid());
  write_all(FileDescriptor::open(probe, O_WRONLY | O_CREAT | O_TRUNC), "now", "write " + probe.string());
  const std::optional<ChangeTime> now = change_time(probe);
  std::filesystem::remove(probe);
  return now.value_or(before_all_changes);
}

}  // namespace thinpipe
