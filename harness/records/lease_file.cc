// SPDX-License-Identifier: Apache-2.0
#include "harness/records/lease_file.hh"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using Milliseconds = std::chrono::milliseconds;

// Returns when a process began, in the kernel's ticks; empty if there is none. Process ids are used again.
std::string start_of_process(const std::string& pid) {
  constexpr int fields_to_start = 20;  // proc(5): from the state, which follows the name in brackets
  try {
    const std::string stat = read_file("/proc/" + pid + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string out;
    for (int i = 0; i < fields_to_start; ++i) fields >> out;
    const bool is_zombie = stat.substr(stat.rfind(')') + 1).starts_with(" Z");
    return is_zombie || !fields ? "" : out;
  } catch (const SystemError&) {
    return "";
  }
}

// Returns which kernel's processes, by which numbers, this process sees.
std::string this_system() {
  std::string boot = read_file("/proc/sys/kernel/random/boot_id");
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  return boot + "/" + fs::read_symlink("/proc/self/ns/pid").string();
}

std::string identity() {
  const std::string pid = std::to_string(::getpid());
  return fmt::format("lease {} {} {}", this_system(), pid, start_of_process(pid));
}

bool is_of_a_process_that_is_gone(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::string word;
  std::string system;
  std::string pid;
  std::string start;
  if (!(lines >> word >> system >> pid >> start) || word != "lease" || system != this_system()) return false;
  return start_of_process(pid) != start;
}

struct Found {
  ino_t inode = 0;
  Milliseconds modified{0};
  std::string text;
};

Milliseconds modified(const struct stat& status) {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::seconds(status.st_mtim.tv_sec) +
                                                  std::chrono::nanoseconds(status.st_mtim.tv_nsec));
}

struct stat status_of(const FileDescriptor& file, const fs::path& path) {
  struct stat out {};
  system_call("look up " + path.string(), ::fstat(file.get(), &out));
  return out;
}

// Opens the file, because NFS then asks the server.
std::optional<Found> look_at(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  const struct stat status = status_of(file, path);
  return Found{.inode = status.st_ino,
               .modified = modified(status),
               .text = read_to_end(file, "read " + path.string())};
}

bool is_stale(const Found& found, Milliseconds now, const LeaseFile::Times& times) {
  return now - found.modified > times.stale_after || is_of_a_process_that_is_gone(found.text);
}

fs::path new_name(const fs::path& path) {
  std::random_device random;
  return fmt::format("{}.{:08x}{:08x}.new", path.string(), random(), random());
}

// A new file with a name of its own, which becomes the lock by a further name.
class Candidate {
 public:
  explicit Candidate(const fs::path& path)
      : path_(new_name(path)), file_(FileDescriptor::open(path_, O_RDWR | O_CREAT | O_EXCL)) {}
  ~Candidate() { ::unlink(path_.c_str()); }
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;
  Candidate(Candidate&&) = delete;
  Candidate& operator=(Candidate&&) = delete;

  void write(std::string_view text) {
    write_all(file_, fmt::format("{}\n{}\n", text, identity()), "write " + path_.string());
  }

  // Returns the file system's time.
  Milliseconds now() {
    system_call("touch " + path_.string(), ::futimens(file_.get(), nullptr));
    return modified(status_of(file_, path_));
  }

  // Returns false if there is a file of that name. Throws SystemError.
  bool link_as(const fs::path& name) {
    const auto links_before = status_of(file_, path_).st_nlink;
    if (::link(path_.c_str(), name.c_str()) == 0) return true;
    const int error_number = errno;
    // NFS may repeat a request that has succeeded.
    if (status_of(file_, path_).st_nlink > links_before) return true;
    // A holder that clears its folder removes this file, too.
    if (error_number == EEXIST || error_number == ENOENT) return false;
    throw SystemError("create " + name.string(), error_number);
  }

  bool replace(const fs::path& name) { return ::rename(path_.c_str(), name.c_str()) == 0; }

  bool is(const fs::path& name) {
    const auto found = look_at(name);
    return found && found->inode == status_of(file_, path_).st_ino;
  }

  FileDescriptor take() { return std::move(file_); }

 private:
  fs::path path_;
  FileDescriptor file_;
};

// Returns the time of the file system that the lock is on; the local one if this process can create no file there.
Milliseconds time_beside(const fs::path& path, Milliseconds local_clock_ahead) {
  try {
    return Candidate(path).now();
  } catch (const SystemError&) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<Milliseconds>(now) + local_clock_ahead;
  }
}

// Takes the place of a stale lock. Only one process at a time may try: else the second would replace the first one's lock,
// which is no longer stale. Returns false if another one does.
bool take_over(Candidate& candidate, const fs::path& path, const LeaseFile::Times& times) {
  const fs::path guard = path.string() + ".takeover";
  if (!candidate.link_as(guard)) {
    const auto other = look_at(guard);
    if (other && is_stale(*other, candidate.now(), times)) ::unlink(guard.c_str());
    return false;
  }
  const auto found = look_at(path);
  const bool took = found && is_stale(*found, candidate.now(), times) && candidate.replace(path);
  if (!candidate.is(guard)) {
    // This process was stopped for so long that another one has removed the guard.
    if (took) ::unlink(path.c_str());
    return false;
  }
  ::unlink(guard.c_str());
  return took;
}

void beat(const std::stop_token& stop, int file, Milliseconds period) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  while (!woken.wait_for(lock, stop, period, [&stop] { return stop.stop_requested(); }))
    ::futimens(file, nullptr);  // fails for a while if the server is away
}

// Signals are for the main thread.
std::jthread start_heart(int file, Milliseconds period) {
  sigset_t all;
  sigset_t previous;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &previous);
  std::jthread out([file, period](const std::stop_token& stop) { beat(stop, file, period); });
  ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  return out;
}

}  // namespace

std::unique_ptr<LeaseFile> LeaseFile::try_hold(const fs::path& path, std::string_view text,
                                               const Times& times) {
  Candidate candidate(path);
  candidate.write(text);
  if (!candidate.link_as(path)) {
    const auto found = look_at(path);
    if (!found || !is_stale(*found, candidate.now(), times)) return nullptr;
    if (!take_over(candidate, path, times)) return nullptr;
  }
  return std::unique_ptr<LeaseFile>(new LeaseFile(path, candidate.take(), times));
}

bool LeaseFile::is_held(const fs::path& path, const Times& times) {
  const auto found = look_at(path);
  return found && !is_stale(*found, time_beside(path, times.local_clock_ahead), times);
}

LeaseFile::LeaseFile(fs::path path, FileDescriptor file, const Times& times)
    : path_(std::move(path)), file_(std::move(file)), heart_(start_heart(file_.get(), times.beat)) {}

LeaseFile::~LeaseFile() {
  struct stat named {};
  struct stat own {};
  if (::stat(path_.c_str(), &named) == 0 && ::fstat(file_.get(), &own) == 0 && named.st_ino == own.st_ino)
    ::unlink(path_.c_str());
}

}  // namespace thinpipe
