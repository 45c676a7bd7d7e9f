// SPDX-License-Identifier: Apache-2.0
// A lock for file systems without flock(2), such as NFS without locks: a file that its holder keeps young.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

// The file appears by link(2), which succeeds for one process only, on NFS too. Its first line is for people; the second
// identifies the holder. It is stale if it is older than `stale_after`, by the file system's own clock, or if its holder was a
// process of this system and is gone. One who finds it stale replaces it. A holder that is stopped for longer than that loses
// the lock.
class LeaseFile {
 public:
  struct Times {
    std::chrono::milliseconds beat{5000};
    std::chrono::milliseconds stale_after{30'000};
    std::chrono::milliseconds local_clock_ahead{0};  // of the real one: for tests
  };

  // Returns the lock, or nullptr if another process holds it. Throws SystemError naming the path if the file cannot be created.
  static std::unique_ptr<LeaseFile> try_hold(const std::filesystem::path& path, std::string_view text,
                                             const Times& times);
  static std::unique_ptr<LeaseFile> try_hold(const std::filesystem::path& path, std::string_view text) {
    return try_hold(path, text, Times{});
  }

  // Returns whether some process holds it. Uses the local clock if this process can create no file in the folder.
  static bool is_held(const std::filesystem::path& path, const Times& times);
  static bool is_held(const std::filesystem::path& path) { return is_held(path, Times{}); }

  // Removes the file, unless another process has replaced it.
  ~LeaseFile();
  LeaseFile(const LeaseFile&) = delete;
  LeaseFile& operator=(const LeaseFile&) = delete;
  LeaseFile(LeaseFile&&) = delete;
  LeaseFile& operator=(LeaseFile&&) = delete;

 private:
  LeaseFile(std::filesystem::path path, FileDescriptor file, const Times& times);

  std::filesystem::path path_;
  FileDescriptor file_;
  std::jthread heart_;
};

}  // namespace thinpipe
