// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/fluid_network.hh"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/topology/frame.hh"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr double rate_bit_per_s = 100e6;
constexpr double bytes_per_s = rate_bit_per_s / 8 * netem::goodput_of_cap;
constexpr double frame_s = 8 * netem::full_frame_bytes / rate_bit_per_s;

netem::Link capped(const std::string& a, const std::string& b, double rate, double burst_bytes) {
  const netem::Direction direction = {.rate_bit_per_s = rate, .burst_bytes = burst_bytes};
  return {.a = a, .b = b, .forward = direction, .backward = direction};
}

// Two hosts on the left, one in the middle, two on the right; both links between switches are capped.
netem::Topology row_of_switches(double right_rate = rate_bit_per_s, double burst_bytes = 0) {
  return {.name = "row",
          .switches = {"left", "middle", "right"},
          .hosts = {"a", "b", "c", "d", "e"},
          .links = {{.a = "a", .b = "left"},
                    {.a = "b", .b = "left"},
                    {.a = "c", .b = "middle"},
                    {.a = "d", .b = "right"},
                    {.a = "e", .b = "right"},
                    capped("left", "middle", rate_bit_per_s, burst_bytes),
                    capped("middle", "right", right_rate, burst_bytes)}};
}

TEST(FluidNetwork, AMessageTakesItsBytesAtTheCapsGoodput) {
  FluidNetwork network(row_of_switches());
  network.start(0, 2, 1e6, 7);
  EXPECT_DOUBLE_EQ(network.next_completion_s(), 1e6 / bytes_per_s);
  EXPECT_THAT(network.advance(0.5 * 1e6 / bytes_per_s), ElementsAre());
  EXPECT_NEAR(network.next_completion_s(), 0.5 * 1e6 / bytes_per_s, 1e-12);
  EXPECT_THAT(network.advance(network.next_completion_s()), ElementsAre(7));
  EXPECT_EQ(network.next_completion_s(), std::numeric_limits<double>::infinity());
}

TEST(FluidNetwork, WhatNoCapHoldsUpIsThereAtOnce) {
  FluidNetwork network(row_of_switches());
  network.start(0, 1, 1e9, 3);
  EXPECT_EQ(network.next_completion_s(), 0);
  EXPECT_THAT(network.advance(0), ElementsAre(3));
  EXPECT_EQ(network.latency_s(0, 1), 0);
}

// Both messages take from the credit of the cap that they share, and the second one finds the rest.
TEST(FluidNetwork, WhatTheBurstHoldsPassesAtOnce) {
  constexpr double burst_bytes = 4000 * netem::goodput_of_cap;  // of payload
  FluidNetwork network(row_of_switches(rate_bit_per_s, 4000));
  EXPECT_EQ(network.start(0, 2, 1000, 1), 0);
  EXPECT_EQ(network.next_completion_s(), 0);
  EXPECT_THAT(network.advance(0), ElementsAre(1));
  EXPECT_DOUBLE_EQ(network.start(0, 4, burst_bytes, 2), 2 * frame_s);
  EXPECT_NEAR(network.next_completion_s(), 1000 / bytes_per_s, 1e-12);
  EXPECT_THAT(network.advance(network.next_completion_s()), ElementsAre(2));
  EXPECT_EQ(network.start(2, 4, 1000, 3), 0);  // the second message left that much at the other cap
}

TEST(FluidNetwork, CreditComesBackWhileACapIsUnused) {
  constexpr double burst_bytes = 4000 * netem::goodput_of_cap;
  FluidNetwork network(row_of_switches(rate_bit_per_s, 4000));
  network.start(0, 2, 1e6, 1);
  EXPECT_NEAR(network.next_completion_s(), (1e6 - burst_bytes) / bytes_per_s, 1e-12);
  network.advance(network.next_completion_s());
  network.advance(500 / bytes_per_s);
  EXPECT_EQ(network.start(0, 2, 500, 2), 0);
  network.advance(0);
  network.advance(1);
  network.start(0, 2, 1e6, 3);
  EXPECT_NEAR(network.next_completion_s(), (1e6 - burst_bytes) / bytes_per_s,
              1e-12);  // no more than the burst
}

// A cap that another one holds up keeps what it does not use.
TEST(FluidNetwork, CreditComesBackWhereMessagesAreSlowerThanTheCap) {
  FluidNetwork network(row_of_switches(rate_bit_per_s / 2, 4000));
  network.start(0, 4, 1e6, 1);
  network.advance(0.02);
  EXPECT_EQ(network.start(0, 2, 4000 * netem::goodput_of_cap, 2), 0);
}

TEST(FluidNetwork, AFrameWaitsAtEachCap) {
  const FluidNetwork network(row_of_switches());
  EXPECT_DOUBLE_EQ(network.latency_s(0, 2), frame_s);
  EXPECT_DOUBLE_EQ(network.latency_s(0, 4), 2 * frame_s);
}

TEST(FluidNetwork, DelaysOfLinksAddUp) {
  netem::Topology topology = row_of_switches();
  topology.links[5].forward.impairments.delay_s = 0.01;
  topology.links[6].forward.impairments.delay_s = 0.02;
  const FluidNetwork network(topology);
  EXPECT_DOUBLE_EQ(network.latency_s(0, 4), 0.03 + 2 * frame_s);
  EXPECT_DOUBLE_EQ(network.latency_s(4, 0), 2 * frame_s);
}

TEST(FluidNetwork, MessagesShareACap) {
  FluidNetwork network(row_of_switches());
  network.start(0, 2, 1e6, 1);
  network.start(1, 2, 3e6, 2);
  EXPECT_DOUBLE_EQ(network.next_completion_s(), 2e6 / bytes_per_s);
  EXPECT_THAT(network.advance(network.next_completion_s()), ElementsAre(1));
  EXPECT_NEAR(network.next_completion_s(), 2e6 / bytes_per_s, 1e-12);  // then the other has all
}

// A frame of 66 bytes goes back for every two frames.
TEST(FluidNetwork, TheOtherDirectionHasOnlyTheirAcknowledgements) {
  constexpr double share = 66 / (2 * netem::full_frame_bytes);
  FluidNetwork network(row_of_switches());
  network.start(0, 2, 1e6, 1);
  network.start(2, 0, 1e6, 2);
  EXPECT_NEAR(network.next_completion_s(), 1e6 / bytes_per_s / (1 - share), 1e-12);
  EXPECT_THAT(network.advance(network.next_completion_s()), UnorderedElementsAre(1, 2));
}

// A burst of 12.5 kB permits segments of five frames, and each is acknowledged by one frame.
TEST(FluidNetwork, LongSegmentsNeedFewerAcknowledgements) {
  constexpr double share = 66 / (5 * netem::full_frame_bytes);
  constexpr double burst_bytes = 12500;
  FluidNetwork network(row_of_switches(rate_bit_per_s, burst_bytes));
  for (const std::size_t id : {1U, 2U}) network.start(id == 1 ? 0 : 2, id == 1 ? 2 : 0, 1e6, id);
  const double left_bytes = 1e6 - burst_bytes * netem::goodput_of_cap;
  EXPECT_NEAR(network.next_completion_s(), left_bytes / bytes_per_s / (1 - share), 1e-12);
}

// Acknowledgements of a fast direction would fill a slow one.
TEST(FluidNetwork, AcknowledgementsLeaveHalfOfASlowDirection) {
  netem::Topology topology = row_of_switches();
  topology.links[5].backward.rate_bit_per_s = rate_bit_per_s / 100;
  FluidNetwork network(topology);
  network.start(0, 2, 1e9, 1);
  network.start(2, 0, 1e3, 2);
  EXPECT_NEAR(network.next_completion_s(), 1e3 / (bytes_per_s / 100 / 2), 1e-9);
}

// Bertsekas and Gallager's kind of example: one message crosses both caps and shares the slower one with
// another; what it leaves of the faster one is the third's.
TEST(FluidNetwork, SharesAreMaxMinFair) {
  FluidNetwork network(row_of_switches(rate_bit_per_s / 2));
  network.start(0, 4, 0.25e6, 1);  // through both: a quarter
  network.start(2, 4, 0.25e6, 2);  // through the slower: a quarter
  network.start(0, 2, 0.75e6, 3);  // through the faster: three quarters
  EXPECT_NEAR(network.next_completion_s(), 1e6 / bytes_per_s, 1e-12);
  EXPECT_THAT(network.advance(network.next_completion_s()), UnorderedElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace thinpipe
