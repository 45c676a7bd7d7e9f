// SPDX-License-Identifier: Apache-2.0
#include "harness/records/lock_file.hh"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string_view>
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

using Flock = int (*)(int, int);

Flock& flock_function() {
  static Flock function = ::flock;
  return function;
}

int lock_at_once(const FileDescriptor& file, int operation) {
  return flock_function()(file.get(), operation | LOCK_NB);
}

bool says_that_there_is_no_flock(int error_number) {
  return error_number == ENOLCK || error_number == ENOTSUP || error_number == EOPNOTSUPP ||
         error_number == ENOSYS;
}

bool leases_are_chosen() {
  const char* const choice = std::getenv(locks_variable);
  return choice != nullptr && std::string_view(choice) == "files";
}

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

void use_flock(Flock function) {
  flock_function() = function == nullptr ? ::flock : function;
}

// Locks a file of its own: one at the lock's path could not be told from a lease.
bool needs_leases(const std::filesystem::path& folder) {
  if (leases_are_chosen()) return true;
  std::random_device random;
  const std::filesystem::path probe = folder / fmt::format(".lock-probe.{:08x}{:08x}", random(), random());
  const FileDescriptor file = FileDescriptor::open(probe, O_RDWR | O_CREAT | O_EXCL);
  const bool has_flock = lock_at_once(file, LOCK_EX) == 0 || !says_that_there_is_no_flock(errno);
  ::unlink(probe.c_str());
  return !has_flock;
}

std::optional<LockFile> LockFile::try_hold(const std::filesystem::path& path) {
  if (needs_leases(path.parent_path())) {
    auto lease = LeaseFile::try_hold(path, this_process());
    return lease ? std::optional(LockFile(std::move(lease))) : std::nullopt;
  }
  while (true) {
    FileDescriptor file = FileDescriptor::open(path, O_RDWR | O_CREAT);
    if (lock_at_once(file, LOCK_EX) != 0) {
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
  if (leases_are_chosen()) return LeaseFile::is_held(path);
  // Closing the file releases it.
  if (lock_at_once(file, LOCK_SH) == 0) return false;
  return says_that_there_is_no_flock(errno) ? LeaseFile::is_held(path) : errno == EWOULDBLOCK;
}

std::string LockFile::holder(const std::filesystem::path& path) {
  try {
    const std::string text = read_file(path);
    if (!text.empty()) return text.substr(0, text.find('\n'));  // the rest is the lease's
  } catch (const SystemError&) {
    // It has just been released.
  }
  return "another process";
}

LockFile::~LockFile() {
  if (file_) ::unlink(path_.c_str());  // still held, so the path is not another holder's
}

}  // namespace thinpipe
