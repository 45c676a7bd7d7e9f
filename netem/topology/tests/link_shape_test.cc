// SPDX-License-Identifier: Apache-2.0
// The shape of a link whose file leaves settings out.
#include "netem/topology/link_shape.hh"

#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe::netem {
namespace {

TEST(LinkShapeTest, FollowsTheRate) {
  const auto shape_at = [](double rate) { return link_shape_of(Direction{.rate_bit_per_s = rate}); };
  EXPECT_EQ(shape_at(100e6).burst_bytes, 4000);
  EXPECT_EQ(shape_at(500e6).burst_bytes, 6250);
  EXPECT_EQ(shape_at(1e9).burst_bytes, 12500);
  EXPECT_EQ(shape_at(100e6).queue_bytes, 125e3);
  EXPECT_EQ(shape_at(1e9).queue_bytes, 1.25e6);
  EXPECT_EQ(shape_at(1e6).queue_bytes, 16 * 1514);
}

TEST(LinkShapeTest, HoldsLargerFrames) {
  const LinkShape shape = link_shape_of({.rate_bit_per_s = 10e6, .frame = {.packet_bytes = 9000}});
  EXPECT_EQ(shape.burst_bytes, 14423) << "1.6 frames";
  EXPECT_EQ(shape.queue_bytes, 16 * 9014);
}

TEST(LinkShapeTest, CreditExceedsTheBurstWhereLateTimersCostMoreThanIt) {
  const auto credit_at = [](double rate) {
    return credit_bytes(link_shape_of(Direction{.rate_bit_per_s = rate}));
  };
  EXPECT_EQ(credit_at(100e6), 4000) << "the burst";
  EXPECT_EQ(credit_at(500e6), 15625);
  EXPECT_EQ(credit_at(1e9), 31250);
  EXPECT_EQ(credit_bytes({.rate_bit_per_s = 500e6, .burst_bytes = 64e3}), 64e3) << "the user's burst";
}

TEST(LinkShapeTest, FramesThatMeetTheirFatesOneByOneTravelOneByOne) {
  // TCP subtracts between 200 and 400 bytes for headers; a full frame's payload is 1448 bytes.
  for (const Impairments& asked :
       {Impairments{.loss = 0.1}, Impairments{.duplication = 0.1}, Impairments{.delay_s = 1, .jitter_s = 0.1},
        Impairments{.delay_s = 1, .reordering = 0.1}}) {
    const unsigned largest = largest_segment_bytes({.burst_bytes = 32000, .impairments = asked});
    EXPECT_GE(largest, 1448 + 400);
    EXPECT_LT(largest, 2 * 1448 + 200);
  }
  EXPECT_EQ(largest_segment_bytes({.burst_bytes = 32000, .impairments = {.delay_s = 1}}), 20000);
}

// The kernel subtracts at least 200 bytes for headers; each frame with 1448 bytes of payload has 1514.
double max_wire_bytes(unsigned segment_bytes, const Frame& frame = {}) {
  return std::floor((segment_bytes - 200.0) / frame.payload_bytes()) * frame.bytes();
}

TEST(LinkShapeTest, LargestSegmentPassesTheBurstWhole) {
  for (const double burst : {2000.0, 4000.0, 6250.0, 12500.0, 512000.0}) {
    EXPECT_LE(max_wire_bytes(largest_segment_bytes({.burst_bytes = burst})), burst);
  }
}

TEST(LinkShapeTest, LargestSegmentHoldsFramesOfAnySizeAndPassesTheSmallestBurstWhole) {
  for (const unsigned packet_bytes : {1280U, 1500U, 2000U, 4000U, 9000U, 9216U}) {
    const Frame frame{.packet_bytes = packet_bytes};
    for (const double rate : {10e6, 1e9}) {
      const LinkShape shape = link_shape_of({.rate_bit_per_s = rate, .frame = frame});
      const unsigned largest = largest_segment_bytes(shape);
      EXPECT_GE(largest, frame.payload_bytes() + 400) << packet_bytes;
      EXPECT_LE(max_wire_bytes(largest, frame), shape.burst_bytes) << packet_bytes;
      if (packet_bytes > 2000) {
        EXPECT_LE(max_wire_bytes(largest, frame), 5.0 / 8 * shape.burst_bytes + 1) << packet_bytes;
      }
    }
  }
}

TEST(LinkShapeTest, LargestSegmentLeavesRoomInTheBurstForLateTimers) {
  for (const double burst : {6250.0, 12500.0, 512000.0}) {
    EXPECT_LE(max_wire_bytes(largest_segment_bytes({.burst_bytes = burst})), burst * 2 / 3);
  }
  EXPECT_GE(largest_segment_bytes({.burst_bytes = 4000}), 2 * 1448 + 400) << "at least two frames";
}

}  // namespace
}  // namespace thinpipe::netem
