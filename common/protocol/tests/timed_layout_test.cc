// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/timed_layout.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(TimedLayout, ABucketIsReadyWithTheLastOfItsGradients) {
  const CommunicationTrace trace{.parameters = {{"first", 30}, {"second", 10}, {"third", 50}, {"last", 10}}};
  const ComputeTimes times{.ready_s = {0.4, 0.3, 0.2, 0.1}};
  const std::vector<TimedBucket> layout =
      timed_layout({{.parameters = {3, 2}}, {.parameters = {0, 1}}}, trace, times);
  ASSERT_EQ(layout.size(), 2U);
  EXPECT_EQ(layout[0].ready_s, 0.2);
  EXPECT_EQ(layout[1].ready_s, 0.4) << "in any order of its gradients";
  EXPECT_DOUBLE_EQ(layout[0].share, 0.6);
  EXPECT_DOUBLE_EQ(layout[1].share, 0.4);
}

}  // namespace
}  // namespace thinpipe
