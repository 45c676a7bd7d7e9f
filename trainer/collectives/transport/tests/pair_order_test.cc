// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/transport/pair_order.hh"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

std::set<std::pair<int, int>> all_pairs(int workers) {
  std::set<std::pair<int, int>> out;
  for (int a = 0; a < workers; ++a)
    for (int b = a + 1; b < workers; ++b) out.emplace(a, b);
  return out;
}

TEST(PairOrder, HasEachPairOnceAndNoWorkerTwiceInAGroup) {
  for (int workers = 1; workers <= 9; ++workers) {
    for (const bool one_at_a_time : {true, false}) {
      std::set<std::pair<int, int>> seen;
      std::size_t pairs = 0;
      for (const auto& group : order_of_pairs(workers, one_at_a_time)) {
        std::set<int> busy;
        for (const auto& pair : group) {
          ++pairs;
          seen.insert(pair);
          busy.insert({pair.first, pair.second});
        }
        EXPECT_EQ(busy.size(), 2 * group.size()) << workers;
      }
      EXPECT_EQ(seen, all_pairs(workers));
      EXPECT_EQ(pairs, seen.size());
    }
  }
}

TEST(PairOrder, HasGroupsOfOnePairOrAsFewGroupsAsPossible) {
  EXPECT_EQ(order_of_pairs(8, true).size(), 28U);
  EXPECT_EQ(order_of_pairs(8, false).size(), 7U);
  EXPECT_EQ(order_of_pairs(7, false).size(), 7U);
  EXPECT_THAT(order_of_pairs(1, true), testing::IsEmpty());
}

}  // namespace
}  // namespace thinpipe::trainer
