// SPDX-License-Identifier: Apache-2.0
// A lock that one controller at a time holds, so that two do not do the same work in one results folder.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/support/file_descriptor.hh"
#include "harness/records/lease_file.hh"

namespace thinpipe {

// Uses flock(2). The kernel releases the lock when its holder ends, however it ends, so locks never go stale.
// Works between machines if their file system supports such locks (NFS since Linux 2.6.12 does, unless it is
// mounted with nolock or local_lock). A file without a holder means nothing; the holder removes it.
// If the file system has no flock, or THINPIPE_LOCKS is "files", the file is a LeaseFile. All processes that share a folder
// must agree.
class LockFile {
 public:
  // Returns the lock, or nullopt if another process holds it. Throws SystemError naming the path if the file
  // cannot be created.
  static std::optional<LockFile> try_hold(const std::filesystem::path& path);

  // Tries until it holds the lock. Returns nullopt once `give_up`, called after each failure, returns true.
  static std::optional<LockFile> wait_for(const std::filesystem::path& path,
                                          const std::function<bool()>& give_up);

  // Returns whether this lock is a LeaseFile.
  bool is_lease() const { return lease_ != nullptr; }

  // Returns whether some process holds it.
  static bool is_held(const std::filesystem::path& path);

  // Returns who holds it, for messages: "process 123 on host-a, since 2025-03-01T12:34:56.789Z".
  static std::string holder(const std::filesystem::path& path);

  ~LockFile();
  LockFile(LockFile&& other) noexcept = default;
  LockFile& operator=(LockFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    std::swap(lease_, other.lease_);
    return *this;
  }
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  LockFile(std::filesystem::path path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  explicit LockFile(std::unique_ptr<LeaseFile> lease) : lease_(std::move(lease)) {}

  std::filesystem::path path_;
  FileDescriptor file_;  // closed on exec, so that workers do not hold the lock
  std::unique_ptr<LeaseFile> lease_;
};

// Environment variable: "files" for locks without flock(2), where it holds on one machine only but does not say so.
inline constexpr const char* locks_variable = "THINPIPE_LOCKS";

// Returns whether locks in this folder are LeaseFiles. Throws SystemError if no file can be created there.
bool needs_leases(const std::filesystem::path& folder);

// Replaces flock(2), for tests; nullptr: the system's.
void use_flock(int (*function)(int file, int operation));

// Environment variable by which a controller in a sandbox gets its process id outside, for messages.
inline constexpr const char* controller_pid_variable = "THINPIPE_CONTROLLER_PID";

}  // namespace thinpipe
