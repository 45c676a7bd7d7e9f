// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/probe.hh"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "common/support/tests/stoppable_child.hh"

namespace thinpipe::netem {
namespace {

// A user may stop a measurement with Ctrl-Z and continue it. The numbers are then worth little, but it ends.
const Host a{.name = "a", .address = "127.0.0.1"};
const Host b{.name = "b", .address = "127.0.0.2"};

TEST(Probes, AMessageSurvivesAStop) {
  StoppableChild child([] { measure_messages(a, b, {.bytes = 1000, .count = 3, .idle_s = 0.5}); });
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(child.wait_for_call(SYS_recvfrom));
    ASSERT_TRUE(child.stop_and_continue());
  }
  EXPECT_TRUE(child.succeeds());
}

TEST(Probes, DatagramsSurviveAStop) {
  // The second one comes after half a second.
  StoppableChild child(
      [] { measure_loss(a, b, {.count = 2, .payload_bytes = 100, .rate_bit_per_s = 1600}); });
  ASSERT_TRUE(child.wait_for_call(SYS_recvfrom));
  ASSERT_TRUE(child.stop_and_continue());
  EXPECT_TRUE(child.succeeds());
}

TEST(Probes, AFlowSurvivesStops) {
  StoppableChild child([] { measure_goodput({{&a, &b}}, {.settle_s = 0.1, .measure_s = 1}); });
  int stops = 0;
  for (const long call : {SYS_sendto, SYS_recvfrom}) {
    for (int i = 0; i < 20; ++i) {
      if (!child.wait_for_call(call) || !child.stop_and_continue()) break;
      ++stops;
    }
  }
  EXPECT_GT(stops, 0);
  EXPECT_TRUE(child.succeeds());
}

}  // namespace
}  // namespace thinpipe::netem
