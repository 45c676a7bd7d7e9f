// SPDX-License-Identifier: Apache-2.0
#include "harness/records/lock_file.hh"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/records/provenance.hh"
#include "netem/kernel/sandbox.hh"

namespace thinpipe {
namespace {

constexpr std::chrono::milliseconds retry_period{100};

std::string this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const char* const outside = netem::inside_sandbox() ? std::getenv(controller_pid_variable) : nullptr;
  return fmt::format("process {} on {}, since {}", outside != nullptr ? outside : std::to_string(::getpid()),
                     host.data(), utc_now());
}

// Returns whether the path still leads to the open file: its last holder may have removed it in the meantime.
bool leads_to(const std::filesystem::path& path, const FileDescriptor& file) {
  struct stat named {};
  struct stat open {};
  if (::stat(path.c_str(), &named) != 0) return false;
  system_call("look up " + path.string(), ::fstat(file.get(), &open));
  return named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

}  // namespace

std::optional<LockFile> LockFile::try_hold(const std::filesystem::path& path) {
  while (true) {
    FileDescriptor file = FileDescriptor::open(path, O_RDWR | O_CREAT);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::nullopt;
      throw SystemError("lock " + path.string(), errno);
    }
    if (!leads_to(path, file)) continue;
    const std::string text = this_process();
    // The text is only for people, so errors such as a full disk are ignored.
    if (::ftruncate(file.get(), 0) == 0) {
      [[maybe_unused]] const auto written = ::write(file.get(), text.data(), text.size());
    }
    return LockFile(path, std::move(file));
  }
}

std::optional<LockFile> LockFile::wait_for(const std::filesystem::path& path,
                                           const std::function<bool()>& give_up) {
  while (true) {
    if (auto lock = try_hold(path)) return lock;
    if (give_up()) return std::nullopt;
    std::this_thread::sleep_for(retry_period);
  }
}

bool LockFile::is_held(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;  // its holder removes it
  // Closing the file releases it.
  return ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::string LockFile::holder(const std::filesystem::path& path) {
  try {
    const std::string text = read_file(path);
    if (!text.empty()) return text;
  } catch (const SystemError&) {
    // It has just been released.
  }
  return "another process";
}

LockFile::~LockFile() {
  if (file_) ::unlink(path_.c_str());  // still held, so the path is not another holder's
}

}  // namespace thinpipe
