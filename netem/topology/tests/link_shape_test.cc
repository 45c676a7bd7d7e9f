// The shape of a link whose file leaves settings out.
#include "netem/topology/link_shape.hh"

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
double max_wire_bytes(unsigned segment_bytes) {
  return (segment_bytes - 200.0) / 1448 * 1514;
}

TEST(LinkShapeTest, LargestSegmentPassesTheBurstWhole) {
  for (const double burst : {2000.0, 4000.0, 6250.0, 12500.0, 512000.0}) {
    EXPECT_LE(max_wire_bytes(largest_segment_bytes({.burst_bytes = burst})), burst);
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
