// SPDX-License-Identifier: Apache-2.0
#include "harness/records/lock_file.hh"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
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
// is_held() holds the lock too, for a moment. Somebody who looks often must not appear as a holder.
constexpr int looks_that_collide = 3;
constexpr std::chrono::milliseconds duration_of_a_look{5};

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

// Locks a file of its own: one at a lock's path could not be told from a lease.
bool has_flock(const std::filesystem::path& folder) {
  std::random_device random;
  const std::filesystem::path probe = folder / fmt::format(".lock-probe.{:08x}{:08x}", random(), random());
  const FileDescriptor file = FileDescriptor::open(probe, O_RDWR | O_CREAT | O_EXCL);
  const bool out = lock_at_once(file, LOCK_EX) == 0 || !says_that_there_is_no_flock(errno);
  ::unlink(probe.c_str());
  return out;
}

// The file systems whose locks this process has tried: a sweep takes a lock for each of its runs.
class TriedFileSystems {
 public:
  bool have_flock(const std::filesystem::path& folder) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) return has_flock(folder);  // throws
    const std::scoped_lock lock(mutex_);
    const auto known = have_flock_.find(status.st_dev);
    if (known != have_flock_.end()) return known->second;
    return have_flock_[status.st_dev] = has_flock(folder);
  }

  void forget() {
    const std::scoped_lock lock(mutex_);
    have_flock_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<dev_t, bool> have_flock_;
};

TriedFileSystems& tried_file_systems() {
  static TriedFileSystems tried;
  return tried;
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
  tried_file_systems().forget();
}

bool needs_leases(const std::filesystem::path& folder) {
  return leases_are_chosen() || !tried_file_systems().have_flock(folder);
}

std::optional<LockFile> LockFile::try_hold(const std::filesystem::path& path) {
  if (needs_leases(path.parent_path())) {
    auto lease = LeaseFile::try_hold(path, this_process());
    return lease ? std::optional(LockFile(std::move(lease))) : std::nullopt;
  }
  for (int refusals = 0;;) {
    FileDescriptor file = FileDescriptor::open(path, O_RDWR | O_CREAT);
    if (lock_at_once(file, LOCK_EX) != 0) {
      if (errno != EWOULDBLOCK) throw SystemError("lock " + path.string(), errno);
      if (++refusals > looks_that_collide) return std::nullopt;
      std::this_thread::sleep_for(duration_of_a_look);
      continue;
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
