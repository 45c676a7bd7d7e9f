// SPDX-License-Identifier: Apache-2.0
#include "common/support/standard_streams.hh"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace thinpipe {

void keep_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() returns the lowest free descriptor, which is this one. Writing to it fails, as before.
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) < 0) return;
  }
}

std::optional<std::string> flush_standard_output() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return std::nullopt;
  return errno != 0 ? std::strerror(errno) : "not all of it could be written";
}

int exit_code_with_output(std::string_view program, int exit_code) {
  const auto failure = flush_standard_output();
  if (!failure) return exit_code;
  print_stderr("{}: write standard output: {}\n", program, *failure);
  return exit_code == 0 ? 1 : exit_code;
}

void write_stderr(std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace thinpipe
