// A file that one controller at a time holds, so that two do not do the same work in one results folder.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

// By flock(2): the kernel lets go of it when its holder ends, by whatever means, so that none goes stale.
// Works between machines where their file system carries such locks (NFS since Linux 2.6.12 does, unless it
// is mounted with nolock or local_lock). The file itself means nothing, and is removed when it is let go.
class LockFile {
 public:
  // Nothing where another process holds it. Throws SystemError naming the path where it cannot be made.
  static std::optional<LockFile> try_hold(const std::filesystem::path& path);

  // Tries again and again until it holds it; nothing once `give_up`, asked after each failure, says so.
  static std::optional<LockFile> wait_for(const std::filesystem::path& path,
                                          const std::function<bool()>& give_up);

  // Who holds it, for people: "process 123 on host-a, since 2025-03-01T12:34:56.789Z".
  static std::string holder(const std::filesystem::path& path);

  ~LockFile();
  LockFile(LockFile&& other) noexcept = default;
  LockFile& operator=(LockFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    return *this;
  }
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  LockFile(std::filesystem::path path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  FileDescriptor file_;  // closes on exec: no worker holds on to it
};

// The name by which a controller inside the sandbox tells its process id outside, where people can use it.
inline constexpr const char* controller_pid_variable = "THINPIPE_CONTROLLER_PID";

}  // namespace thinpipe
