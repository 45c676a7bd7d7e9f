// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/time_limits.hh"

#include <climits>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "trainer/collectives/transport/peer_sockets.hh"

namespace thinpipe::trainer {
namespace {

TEST(TimeLimits, PollWaitsAtLeastAsLong) {
  EXPECT_EQ(poll_milliseconds(-1), 0);
  EXPECT_EQ(poll_milliseconds(0), 0);
  EXPECT_EQ(poll_milliseconds(0.0011), 2);
  EXPECT_EQ(poll_milliseconds(60), 60'000);
}

TEST(TimeLimits, PollsLongestWaitStandsForLongerOnes) {
  for (const double seconds : {25.0 * 24 * 3600, 1e9, 1e300})
    EXPECT_EQ(poll_milliseconds(seconds), INT_MAX) << seconds;
}

TEST(TimeLimits, SocketsTakeAny) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const double seconds : {0.001, 60.0, 25.0 * 24 * 3600, 1e12, 1e300})
    EXPECT_NO_THROW(set_timeouts(socket, seconds)) << seconds;
}

}  // namespace
}  // namespace thinpipe::trainer
