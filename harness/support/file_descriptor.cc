#include "harness/support/file_descriptor.hh"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "harness/support/exception.hh"

namespace thinpipe {

void FileDescriptor::reset() {
  // On Linux the descriptor is gone whatever close returns, so there is nothing to retry or report.
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

std::string read_file(const std::string& path) {
  return read_to_end(FileDescriptor::open(path, O_RDONLY), "read " + path);
}

}  // namespace thinpipe
