#include "harness/plan/prediction.hh"

#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {
namespace {

netem::Topology three_switch() {
  return netem::load_topology(source_path("topologies/three-switch.json"));
}

TEST(PredictExchange, ARingInRankOrderCrossesEachBottleneckOnceInEachDirection) {
  netem::Topology topology = three_switch();
  netem::set_bottleneck_rate(topology, 1e8, {});
  const auto prediction = predict_exchange(topology, 8, {.around_ring = 1e6});
  ASSERT_TRUE(prediction);
  EXPECT_DOUBLE_EQ(prediction->wire_bytes_per_iteration, 1e6 * 1514 / 1448);
  EXPECT_DOUBLE_EQ(prediction->time_s, 0.08 * 1514 / 1448);
}

TEST(PredictExchange, ALoopIsCrossedTheShorterWay) {
  const netem::Topology ring = netem::load_topology(source_path("topologies/ring-of-sites.json"));
  const auto prediction = predict_exchange(ring, 10, {.around_ring = 1e6});
  ASSERT_TRUE(prediction);
  // In rank order every link between sites is crossed once, in one direction.
  EXPECT_DOUBLE_EQ(prediction->wire_bytes_per_iteration, 1e6 * 1514 / 1448);
  EXPECT_EQ(prediction->link, "site0->site1");
}

TEST(PredictExchange, ASlowDirectionDecides) {
  netem::Topology topology = three_switch();
  topology.links.back().backward.rate_bit_per_s = 10e6;
  const auto prediction = predict_exchange(topology, 8, {.around_ring = 1e6});
  ASSERT_TRUE(prediction);
  EXPECT_EQ(prediction->link, "right->middle");
  EXPECT_DOUBLE_EQ(prediction->time_s, 0.8 * 1514 / 1448);
}

// 2 (N-1) / N of a vector from each worker around the ring are the whole of it over each edge of a tree.
TEST(PredictExchange, ATreeCrossesEachBottleneckOnce) {
  const std::vector<int> parents = {4, 0, 0, -1, 3, 3, 5, 5};
  const auto prediction = predict_exchange(three_switch(), 8, {.around_ring = 1.75e6}, parents);
  ASSERT_TRUE(prediction);
  EXPECT_DOUBLE_EQ(prediction->wire_bytes_per_iteration, 1e6 * 1514 / 1448);
}

// Three workers' codes in three bits one way and five workers' in four the other, where a ring has bytes.
TEST(PredictExchange, SumsOfCodesCrossABottleneckInAsFewBitsAsTheyNeed) {
  const std::vector<int> parents = {4, 0, 0, -1, 3, 3, 5, 5};
  const auto along_tree = predict_exchange(three_switch(), 8, {.codes = 1e6}, parents);
  ASSERT_TRUE(along_tree);
  EXPECT_DOUBLE_EQ(along_tree->wire_bytes_per_iteration, 0.5e6 * 1514 / 1448);
  const auto around_ring = predict_exchange(three_switch(), 8, {.codes = 1e6});
  ASSERT_TRUE(around_ring);
  EXPECT_DOUBLE_EQ(around_ring->wire_bytes_per_iteration, 1.75e6 * 1514 / 1448);
}

TEST(PredictExchange, PairsCrossABottleneckAsOftenAsTheyLieOnBothSides) {
  netem::Topology topology = three_switch();
  const auto prediction = predict_exchange(topology, 8, {.pairwise = 7e6});
  ASSERT_TRUE(prediction);
  // Three workers on one side and five on the other, 1 MB from each to each.
  EXPECT_NEAR(prediction->wire_bytes_per_iteration, 15e6 * 1514 / 1448, 1);
}

// Each of eight workers sends to the one four further: over the cut of three and five go those of 0 to 2 one
// way, and of 4, 5 and 6, to 0, 1 and 2, the other; none that stays on its side.
TEST(PredictExchange, ShiftedBytesCrossWhereTheirWorkersLie) {
  const auto four_further = predict_exchange(three_switch(), 8, {.shifted = {0, 0, 0, 1e6}});
  ASSERT_TRUE(four_further);
  EXPECT_NEAR(four_further->wire_bytes_per_iteration, 3e6 * 1514 / 1448, 1);
  const auto next = predict_exchange(three_switch(), 8, {.shifted = {1e6}});
  EXPECT_NEAR(next->wire_bytes_per_iteration, 1e6 * 1514 / 1448, 1);
}

// From a root r, v sends to v + 1, v + 2 and v + 4, counted from r. Of all eight roots' broadcasts of 1 MB,
// counted by hand over the cut behind worker 2, and half of them go one way.
TEST(PredictExchange, BroadcastsGoAlongABinomialTree) {
  const int workers = 8;
  int crossing = 0;  // from {0, 1, 2} to the others
  for (int root = 0; root < workers; ++root) {
    for (int v = 0; v < workers; ++v) {
      for (int step = 1; step < workers; step *= 2) {
        if (v >= step || v + step >= workers) continue;
        const bool leaves = (root + v) % workers < 3;
        const bool arrives = (root + v + step) % workers >= 3;
        crossing += leaves && arrives ? 1 : 0;
      }
    }
  }
  const double mean_sent = 1e6 * (workers - 1) / workers;  // of one worker, a broadcast from each in turn
  const auto prediction = predict_exchange(three_switch(), workers, {.broadcast = mean_sent});
  ASSERT_TRUE(prediction);
  EXPECT_NEAR(prediction->wire_bytes_per_iteration, 1e6 * crossing / workers * 1514 / 1448, 1);
  EXPECT_GT(prediction->wire_bytes_per_iteration, 1.2 * mean_sent);
}

// Five workers' blocks one way, three the other.
TEST(PredictExchange, WhatIsGatheredOrBroadcastLeavesItsWorkersSideOnce) {
  const std::vector<int> parents = {4, 0, 0, -1, 3, 3, 5, 5};
  for (const SentBytes& sent : {SentBytes{.gathered = 7e6}, SentBytes{.broadcast = 7e6}}) {
    const auto prediction = predict_exchange(three_switch(), 8, sent, parents);
    ASSERT_TRUE(prediction);
    EXPECT_NEAR(prediction->wire_bytes_per_iteration, 5e6 * 1514 / 1448, 1);
  }
}

TEST(PredictExchange, WorkersOfOneIslandCrossNoBottleneck) {
  EXPECT_FALSE(predict_exchange(three_switch(), 3, {.around_ring = 1e6}));
  EXPECT_FALSE(predict_exchange(three_switch(), 1, {.around_ring = 1e6, .pairwise = 1e6}));
  EXPECT_TRUE(predict_exchange(three_switch(), 4, {.around_ring = 1e6}));
}

// Computing takes 3 s, of which the first is forward.
TEST(PredictIteration, OneBucketOverlapsWithNothing) {
  EXPECT_DOUBLE_EQ(predict_iteration_s({100}, 3, 2), 5);
  EXPECT_DOUBLE_EQ(predict_iteration_s({100}, 3, 0), 3);
}

TEST(PredictIteration, BucketsAreExchangedWhileBackwardGoesOn) {
  // Ready after 2 s and 3 s; a short exchange leaves only its last part exposed, a long one hides nothing but
  // the backward pass behind the first bucket.
  EXPECT_DOUBLE_EQ(predict_iteration_s({50, 50}, 3, 1), 3.5);
  EXPECT_DOUBLE_EQ(predict_iteration_s({50, 50}, 3, 8), 10);
  // 10 % of it: ready after 1.2 s.
  EXPECT_DOUBLE_EQ(predict_iteration_s({10, 90}, 3, 10), 12);
  EXPECT_DOUBLE_EQ(predict_iteration_s({10, 90}, 3, 20), 21.2);
}

}  // namespace
}  // namespace thinpipe
