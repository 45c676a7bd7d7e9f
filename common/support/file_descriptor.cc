// SPDX-License-Identifier: Apache-2.0
#include "common/support/file_descriptor.hh"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

constexpr int writer_within_ms = 1000;
constexpr int more_within_ms = 60'000;

struct stat look_up(const FileDescriptor& file, const std::string& path) {
  struct stat about {};
  system_call("look up " + path, ::fstat(file.get(), &about));
  return about;
}

// Reads a named pipe, opened with O_NONBLOCK, until all writers have closed it.
std::string read_pipe(const FileDescriptor& pipe, const std::string& path) {
  std::string out;
  std::array<char, 65536> buffer{};
  while (true) {
    // While nobody has opened the pipe for writing, poll blocks and read returns end of file.
    pollfd waited{.fd = pipe.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waited, 1, writer_within_ms);
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got == 0) {
      if (ready == 0) throw Error(path + " is a named pipe that nobody writes to");
      return out;
    }
    if (got > 0) {
      out.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (errno == EAGAIN) {
      if (::poll(&waited, 1, more_within_ms) == 0)
        throw Error(path + " is a pipe to which nobody has written for a minute");
    } else if (errno != EINTR) {
      system_call("read " + path, got);
    }
  }
}

}  // namespace

void FileDescriptor::reset() {
  // On Linux the descriptor is closed whatever close() returns, so there is nothing to retry or report.
  if (fd_ >= 0) ::close(release());
}

FileDescriptor FileDescriptor::open(const std::string& path, int flags, unsigned mode) {
  return FileDescriptor(system_call("open " + path, ::open(path.c_str(), flags | O_CLOEXEC, mode)));
}

Pipe Pipe::create() {
  std::array<int, 2> ends{};
  system_call("create a pipe", ::pipe2(ends.data(), O_CLOEXEC));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void write_all(const FileDescriptor& fd, std::string_view bytes, std::string_view attempt) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    system_call(attempt, written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_to_end(const FileDescriptor& fd, std::string_view attempt) {
  std::string out;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    system_call(attempt, got);
    if (got == 0) return out;
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

FileDescriptor open_regular_file(const std::string& path) {
  FileDescriptor file = FileDescriptor::open(path, O_RDONLY | O_NONBLOCK);
  if (!S_ISREG(look_up(file, path).st_mode))
    throw Error(path + " is not a file, but a folder, a pipe or a device");
  return file;
}

std::string read_file(const std::string& path) {
  const FileDescriptor file = FileDescriptor::open(path, O_RDONLY | O_NONBLOCK);
  if (S_ISFIFO(look_up(file, path).st_mode)) return read_pipe(file, path);
  return read_to_end(file, "read " + path);
}

}  // namespace thinpipe
