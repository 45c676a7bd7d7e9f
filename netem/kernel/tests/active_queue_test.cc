// SPDX-License-Identifier: Apache-2.0
// The settings of active queues. (netem/tests/active_queues_test.cc gives them to a kernel.)
#include "netem/kernel/active_queue.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::netem {
namespace {

ActiveQueue settings(Queueing queueing, double queue_bytes) {
  return active_queue_of(
      {.rate_bit_per_s = 100e6, .burst_bytes = 4000, .queue_bytes = queue_bytes, .queueing = queueing});
}

TEST(ActiveQueueTest, CodelsCountAPacketPerFullFrame) {
  EXPECT_EQ(settings(Queueing::codel, 16 * 1514).limit, 16U);
  EXPECT_EQ(settings(Queueing::codel, 16 * 1514 + 1).limit, 17U) << "rounded up";
  EXPECT_EQ(settings(Queueing::codel, 16 * 1514).memory_bytes, 0U);
  EXPECT_EQ(settings(Queueing::fq_codel, 125'000).limit, 83U);
  EXPECT_EQ(settings(Queueing::fq_codel, 125'000).memory_bytes, 250'000U);
}

TEST(ActiveQueueTest, RedHasThresholdsAtASixthAndAtHalfOfTheQueue) {
  const ActiveQueue queue = settings(Queueing::red, 120'000);
  EXPECT_EQ(queue.limit, 120'000U);
  EXPECT_EQ(queue.min_bytes, 20'000U);
  EXPECT_EQ(queue.max_bytes, 60'000U);
  EXPECT_NEAR(queue.max_share, 0.1 * 4294967296.0, 1);
}

// 2^5 is the largest power below the 39 full frames in 60 kB.
TEST(ActiveQueueTest, RedsAverageSpansTheFramesOfTheUpperThreshold) {
  EXPECT_EQ(settings(Queueing::red, 120'000).weight_log2, 5U);
  EXPECT_EQ(settings(Queueing::red, 4000).weight_log2, 1U) << "at least";
  EXPECT_EQ(settings(Queueing::red, 4e6).weight_log2, 9U) << "at most";
  // The kernel refuses thresholds that need more than 31 bits once they are shifted by the weight.
  for (const double queue_bytes : {8e6, 100e6, 1e9}) {
    const ActiveQueue queue = settings(Queueing::red, queue_bytes);
    EXPECT_LT(static_cast<double>(queue.max_bytes) * std::exp2(queue.weight_log2), std::exp2(31));
    EXPECT_GE(queue.weight_log2, 1U);
  }
}

TEST(ActiveQueueTest, LengthsAreReadBackInBytes) {
  EXPECT_EQ(queue_bytes_of(settings(Queueing::red, 120'000), {}), 120'000);
  EXPECT_EQ(queue_bytes_of(settings(Queueing::codel, 120'000), {}), 80 * 1514);
  const Frame jumbo{.packet_bytes = 9000};
  const ActiveQueue of_jumbo =
      active_queue_of({.queue_bytes = 120'000, .queueing = Queueing::codel, .frame = jumbo});
  EXPECT_EQ(queue_bytes_of(of_jumbo, jumbo), 14 * 9014);
}

}  // namespace
}  // namespace thinpipe::netem
