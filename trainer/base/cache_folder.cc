// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/cache_folder.hh"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* remedy = "set XDG_CACHE_HOME to a folder that can be written";

fs::path user_cache() {
  // An unset variable and an empty one mean the same (XDG Base Directory Specification).
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return cache;
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache";
  throw Error(fmt::format("there is no folder for cached data, because HOME is not set: {}", remedy));
}

}  // namespace

fs::path cache_folder(const std::string& name) {
  const fs::path folder = user_cache() / "thinpipe" / name;
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    throw Error(fmt::format("cannot create the folder {} for cached data: {}; {}", folder.string(),
                            failure.message(), remedy));
  }
  return folder;
}

FileDescriptor hold_lock(const fs::path& path) {
  const std::string lock = path.string() + ".lock";
  FileDescriptor file = FileDescriptor::open(lock, O_RDWR | O_CREAT);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) throw SystemError("lock " + lock, errno);
  spdlog::info("waiting for another process that prepares {}", path.string());
  int result = 0;
  do {
    result = ::flock(file.get(), LOCK_EX);
  } while (result != 0 && errno == EINTR);
  system_call("lock " + lock, result);
  return file;
}

}  // namespace thinpipe::trainer
