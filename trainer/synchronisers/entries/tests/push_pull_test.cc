// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/entries/push_pull.hh"

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

// Two workers send sizes: 4 bytes to each owner, of which 4 leave the worker, and 4 all-gathered.
constexpr double size_payload = 2 * 4 + 4;
constexpr double size_sent = 4 + 4;

TEST(PushPull, ItsBoundIsOfTheWorkerThatSendsMost) {
  // Worker 0 pushes 10 to worker 1 and forwards its own 7; worker 1 pushes 30 to worker 0 and forwards its 5.
  const ExpectedTraffic most = push_pull_at_most({.pushed = {30, 10}, .pulled = {7, 5}});
  EXPECT_EQ(most.payload_bytes, size_payload + 40 + 7);
  EXPECT_EQ(most.sent_bytes, size_sent + 30 + 5);
  EXPECT_EQ(most.delivered_bytes, size_sent + 30 + 5) << "worker 0 receives the other's 30 and 5";
}

TEST(PushPull, ItsMeanIsOverWorkers) {
  const ExpectedTraffic mean = push_pull_mean({.pushed = {30, 10}, .pulled = {7, 5}});
  EXPECT_EQ(mean.payload_bytes, size_payload + 40 + 6);
  EXPECT_EQ(mean.sent_bytes, size_sent + (10 + 7 + 30 + 5) / 2.0);
  EXPECT_EQ(mean.delivered_bytes, mean.sent_bytes)
      << "of two workers, each receives the bytes that the other sends";
}

TEST(PushPull, OneWorkerSendsNothing) {
  EXPECT_EQ(push_pull_at_most({.pushed = {30}, .pulled = {7}}).sent_bytes, 0);
  EXPECT_EQ(push_pull_mean({.pushed = {30}, .pulled = {7}}).sent_bytes, 0);
}

}  // namespace
}  // namespace thinpipe::trainer
