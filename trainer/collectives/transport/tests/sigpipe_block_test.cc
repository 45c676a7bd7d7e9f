// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/sigpipe_block.hh"

#include <cerrno>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/support/file_descriptor.hh"

namespace thinpipe::trainer {
namespace {

ssize_t write_to_nobody() {
  Pipe pipe = Pipe::create();
  pipe.read_end.reset();
  return write(pipe.write_end.get(), "x", 1);
}

TEST(SigpipeBlock, MakesWritingToNobodyAnError) {
  {
    const SigpipeBlock block;
    EXPECT_EQ(write_to_nobody(), -1);
    EXPECT_EQ(errno, EPIPE);
  }
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(SigpipeBlock, RestoresTheMask) {
  {
    const SigpipeBlock block;
    const SigpipeBlock inner;
  }
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGPIPE), 0);
}

}  // namespace
}  // namespace thinpipe::trainer
