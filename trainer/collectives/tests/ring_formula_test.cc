// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/ring_formula.hh"

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

TEST(RingFormula, AllReduceSendsTwicePayloadLessOneShare) {
  EXPECT_DOUBLE_EQ(ring_all_reduce_sent_bytes(1000, 1), 0);
  EXPECT_DOUBLE_EQ(ring_all_reduce_sent_bytes(1000, 2), 1000);
  EXPECT_DOUBLE_EQ(ring_all_reduce_sent_bytes(1000, 8), 1750);
}

TEST(RingFormula, AllGatherForwardsAllButTheSuccessorsBlock) {
  EXPECT_DOUBLE_EQ(ring_all_gather_sent_bytes(100, 8), 700);
  constexpr std::int64_t equal[] = {100, 100, 100, 100};
  for (int r = 0; r < 4; ++r) EXPECT_EQ(ring_all_gather_v_sent_bytes(equal, r), 300);
  constexpr std::int64_t uneven[] = {1, 20, 300};
  EXPECT_EQ(ring_all_gather_v_sent_bytes(uneven, 0), 301);
  EXPECT_EQ(ring_all_gather_v_sent_bytes(uneven, 1), 21);
  EXPECT_EQ(ring_all_gather_v_sent_bytes(uneven, 2), 320);
  constexpr std::int64_t alone[] = {7};
  EXPECT_EQ(ring_all_gather_v_sent_bytes(alone, 0), 0);
}

TEST(RingFormula, BroadcastFollowsTheBinomialTree) {
  constexpr int sends_of_8[] = {3, 2, 1, 1, 0, 0, 0, 0};
  for (int r = 0; r < 8; ++r) EXPECT_EQ(binomial_broadcast_sends(r, 0, 8), sends_of_8[r]) << r;
  // Counted from the root: 0 sends to 1, 2 and 4, and 1 sends to 3; no other worker has an existing peer.
  constexpr int sends_of_5[] = {3, 1, 0, 0, 0};
  for (int r = 0; r < 5; ++r) EXPECT_EQ(binomial_broadcast_sends((r + 3) % 5, 3, 5), sends_of_5[r]) << r;
  EXPECT_EQ(binomial_broadcast_sends(0, 0, 1), 0);
  EXPECT_EQ(binomial_broadcast_sent_bytes(1000, 0, 0, 8), 3000);
}

TEST(RingFormula, BroadcastReachesEveryoneOnce) {
  for (int n = 1; n <= 40; ++n) {
    int sends = 0;
    for (int r = 0; r < n; ++r) sends += binomial_broadcast_sends(r, n / 2, n);
    EXPECT_EQ(sends, n - 1) << n;
  }
}

}  // namespace
}  // namespace thinpipe::trainer
