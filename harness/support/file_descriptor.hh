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

  // A pipe whose two ends close on exec.
  static Pipe create();
};

// Writes all of `bytes`, however many calls it takes. `attempt` names it in the error.
void write_all(const FileDescriptor& fd, std::string_view bytes, std::string_view attempt);

// Everything up to end of file.
std::string read_to_end(const FileDescriptor& fd, std::string_view attempt);

// Opens a file for reading whose size is known. Throws Error if it is of another kind, without waiting:
// opening a named pipe would wait for somebody who writes to it.
FileDescriptor open_regular_file(const std::string& path);

// The whole of a file, or what is written to a pipe until it is closed. Throws SystemError naming the path,
// and Error if a pipe has nobody who writes, or nothing comes for a minute.
std::string read_file(const std::string& path);

}  // namespace thinpipe
