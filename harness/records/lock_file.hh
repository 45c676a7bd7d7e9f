// SPDX-License-Identifier: Apache-2.0
// A lock that one controller at a time holds, so that two do not do the same work in one results folder.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

// Uses flock(2). The kernel releases the lock when its holder ends, however it ends, so locks never go stale.
// Works between machines if their file system supports such locks (NFS since Linux 2.6.12 does, unless it is
// mounted with nolock or local_lock). A file without a holder means nothing; the holder removes it.
class LockFile {
 public:
  // Returns the lock, or nullopt if another process holds it. Throws SystemError naming the path if the file
  // cannot be created.
  static std::optional<LockFile> try_hold(const std::filesystem::path& path);

  // Tries until it holds the lock. Returns nullopt once `give_up`, called after each failure, returns true.
  static std::optional<LockFile> wait_for(const std::filesystem::path& path,
                                          const std::function<bool()>& give_up);

  // Returns whether some process holds it.
  static bool is_held(const std::filesystem::path& path);

  // Returns who holds it, for messages: "process 123 on host-a, since 2025-03-01T12:34:56.789Z".
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
  FileDescriptor file_;  // closed on exec, so that workers do not hold the lock
};

// Environment variable by which a controller in a sandbox gets its process id outside, for messages.
inline constexpr const char* controller_pid_variable = "THINPIPE_CONTROLLER_PID";

}  // namespace thinpipe
