// SPDX-License-Identifier: Apache-2.0
#include "common/support/signals.hh"

#include <csignal>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(StopSignals, AHangUpIsARequestToStop) {
  StopSignals stop;
  EXPECT_FALSE(stop.requested());
  std::raise(SIGHUP);
  EXPECT_TRUE(stop.requested());
}

TEST(StopSignals, AHangUpThatIsIgnoredIsNone) {  // as with nohup
  std::signal(SIGHUP, SIG_IGN);
  {
    StopSignals stop;
    std::raise(SIGHUP);
    EXPECT_FALSE(stop.requested());
    std::raise(SIGTERM);
    EXPECT_TRUE(stop.requested());
  }
  std::signal(SIGHUP, SIG_DFL);
}

}  // namespace
}  // namespace thinpipe
