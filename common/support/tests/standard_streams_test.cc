// SPDX-License-Identifier: Apache-2.0
#include "common/support/standard_streams.hh"

#include <cstdio>
#include <functional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thinpipe {
namespace {

// Returns the exit status of a child process that runs only this, because streams belong to the process.
int status_of(const std::function<int()>& action) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(action());
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardOutput, AFullDiskIsNoticed) {
  EXPECT_EQ(status_of([] {
              if (std::freopen("/dev/full", "w", stdout) == nullptr) return 2;
              std::fputs("some text", stdout);
              return flush_standard_output() == "No space left on device" ? 0 : 1;
            }),
            0);
}

TEST(StandardOutput, IsWellIfAllIsWritten) {
  EXPECT_EQ(status_of([] {
              if (std::freopen("/dev/null", "w", stdout) == nullptr) return 2;
              std::fputs("some text", stdout);
              return flush_standard_output() ? 1 : 0;
            }),
            0);
}

TEST(StandardError, ThatCannotBeWrittenIsNoReasonToStop) {
  EXPECT_EQ(status_of([] {
              if (std::freopen("/dev/full", "w", stderr) == nullptr) return 2;
              print_stderr("{} is {}\n", "this", "lost");
              return 0;
            }),
            0);
}

// Otherwise an opened file would get the closed descriptor, and printed text would go into the file.
TEST(StandardStreams, ClosedOnesAreTaken) {
  EXPECT_EQ(status_of([] {
              ::close(STDOUT_FILENO);
              keep_standard_streams();
              const int next = ::open("/dev/null", O_WRONLY);
              std::fputs("some text", stdout);
              return next > STDERR_FILENO && flush_standard_output() ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace thinpipe
