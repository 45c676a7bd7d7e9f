// SPDX-License-Identifier: Apache-2.0
// An owned file descriptor: closed once, by its destructor.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace thinpipe {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

  // Opens `path` with close-on-exec added to `flags`; throws SystemError naming the path.
  static FileDescriptor open(const std::string& path, int flags, unsigned mode = 0644);

 private:
  int fd_ = -1;
};

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;

  // Returns a pipe whose two ends close on exec.
  static Pipe create();
};

// Writes all of `bytes`, in as many calls as needed. Throws SystemError with `attempt`.
void write_all(const FileDescriptor& fd, std::string_view bytes, std::string_view attempt);

// Reads up to end of file. Throws SystemError with `attempt`.
std::string read_to_end(const FileDescriptor& fd, std::string_view attempt);

// Opens a regular file for reading. Throws Error for any other kind of file, without blocking: opening a
// named pipe would wait for a writer.
FileDescriptor open_regular_file(const std::string& path);

// Returns the contents of a file, or the data written to a named pipe until all writers have closed it.
// Throws SystemError with the path, or Error if a pipe has no writer or stays silent for a minute.
std::string read_file(const std::string& path);

}  // namespace thinpipe
