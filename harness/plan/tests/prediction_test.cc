// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/prediction.hh"

#include <memory>

#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "netem/topology/topology.hh"
#include "netem/topology/topology_format.hh"
#include "netem/topology/topology_settings.hh"

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
  // In rank order, the ring crosses every link between sites once, in one direction.
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

// Around the ring, each worker sends 2 (N-1) / N of a vector; along a tree, each edge carries the whole
// vector.
TEST(PredictExchange, ATreeCrossesEachBottleneckOnce) {
  const std::vector<int> parents = {4, 0, 0, -1, 3, 3, 5, 5};
  const auto prediction = predict_exchange(three_switch(), 8, {.around_ring = 1.75e6}, parents);
  ASSERT_TRUE(prediction);
  EXPECT_DOUBLE_EQ(prediction->wire_bytes_per_iteration, 1e6 * 1514 / 1448);
}

// Sums of three workers' codes need three bits, sums of five workers' codes four. A ring sends bytes.
TEST(PredictExchange, SumsOfCodesCrossABottleneckInAsFewBitsAsTheyNeed) {
  const std::vector<int> parents = {4, 0, 0, -1, 3, 3, 5, 5};
  const auto along_tree = predict_exchange(three_switch(), 8, {.codes = 1e6}, parents);
  ASSERT_TRUE(along_tree);
  EXPECT_DOUBLE_EQ(along_tree->wire_bytes_per_iteration, 0.5e6 * 1514 / 1448);
  const auto around_ring = predict_exchange(three_switch(), 8, {.codes = 1e6});
  ASSERT_TRUE(around_ring);
  EXPECT_DOUBLE_EQ(around_ring->wire_bytes_per_iteration, 1.75e6 * 1514 / 1448);
}

// NCCL sums codes as bytes, along a tree too.
TEST(PredictExchange, NcclSumsCodesInBytes) {
  Setting setting;
  setting.topology = three_switch();
  CheckedConfig training;
  training.plan = {{"sent_bytes_per_iteration", 1.75e6}, {"codes_per_iteration", 1e6}, {"largest_code", 1}};
  thinpipe::Run run;
  run.workers = 8;
  run.setting = std::make_shared<const Setting>(setting);
  run.training = std::make_shared<const CheckedConfig>(training);
  run.reduction_tree = {4, 0, 0, -1, 3, 3, 5, 5};
  run.collective = "nccl";
  const auto nccl = predict_exchange(run);
  ASSERT_TRUE(nccl);
  EXPECT_DOUBLE_EQ(nccl->wire_bytes_per_iteration, 1e6 * 1514 / 1448);
  EXPECT_DOUBLE_EQ(sent_bytes_per_iteration(run), 1.75e6);
  run.collective = "island";
  const auto island = predict_exchange(run);
  ASSERT_TRUE(island);
  EXPECT_DOUBLE_EQ(island->wire_bytes_per_iteration, 0.5e6 * 1514 / 1448);
  EXPECT_LT(sent_bytes_per_iteration(run), 0.5 * 1.75e6);
}

TEST(PredictExchange, PairsCrossABottleneckAsOftenAsTheyLieOnBothSides) {
  netem::Topology topology = three_switch();
  const auto prediction = predict_exchange(topology, 8, {.pairwise = 7e6});
  ASSERT_TRUE(prediction);
  // Three workers on one side and five on the other; each sends 1 MB to each.
  EXPECT_NEAR(prediction->wire_bytes_per_iteration, 15e6 * 1514 / 1448, 1);
}

// Each of eight workers sends to the one four ranks further. The cut between workers 2 and 3 carries the
// messages of 0, 1 and 2 one way, and those of 4, 5 and 6, to 0, 1 and 2, the other way.
TEST(PredictExchange, ShiftedBytesCrossWhereTheirWorkersLie) {
  const auto four_further = predict_exchange(three_switch(), 8, {.shifted = {0, 0, 0, 1e6}});
  ASSERT_TRUE(four_further);
  EXPECT_NEAR(four_further->wire_bytes_per_iteration, 3e6 * 1514 / 1448, 1);
  const auto next = predict_exchange(three_switch(), 8, {.shifted = {1e6}});
  EXPECT_NEAR(next->wire_bytes_per_iteration, 1e6 * 1514 / 1448, 1);
}

// Two groups of four, 0 to 3 and 4 to 7: of their messages, only 2 -> 3 and 3 -> 0 cross the cut behind worker 2.
// Among pairs, 2 and 3 swap theirs across it.
TEST(PredictExchange, ShiftsWithinAGroupStayInIt) {
  for (const std::size_t workers : {4, 2}) {
    const SentBytes sent{.group_shifts = {{.workers = workers, .distance = 1, .bytes = 1e6}}};
    const auto prediction = predict_exchange(three_switch(), 8, sent);
    ASSERT_TRUE(prediction);
    EXPECT_NEAR(prediction->wire_bytes_per_iteration, 1e6 * 1514 / 1448, 1);
    EXPECT_DOUBLE_EQ(mean_sent_bytes(8, sent, {}), 1e6);
  }
  // Pairs of the dumbbell's workers are on the same side.
  const netem::Topology dumbbell = netem::load_topology(source_path("topologies/dumbbell.json"));
  EXPECT_FALSE(
      predict_exchange(dumbbell, 8, {.group_shifts = {{.workers = 2, .distance = 1, .bytes = 1e6}}}));
}

// Counted from the root, worker v sends to v + 1, v + 2 and v + 4. Counts by hand the messages of all eight
// roots' broadcasts of 1 MB that cross the cut behind worker 2; half of them go each way.
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
  const double mean_sent = 1e6 * (workers - 1) / workers;  // of one worker, with one broadcast from each
  const auto prediction = predict_exchange(three_switch(), workers, {.broadcast = mean_sent});
  ASSERT_TRUE(prediction);
  EXPECT_NEAR(prediction->wire_bytes_per_iteration, 1e6 * crossing / workers * 1514 / 1448, 1);
  EXPECT_GT(prediction->wire_bytes_per_iteration, 1.2 * mean_sent);
}

// Blocks of five workers one way, of three the other.
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

// Compute takes 3 s, of which the forward pass takes 1 s.
TEST(PredictIteration, OneBucketOverlapsWithNothing) {
  EXPECT_DOUBLE_EQ(predict_iteration_s(std::vector<double>{100}, 3, 2), 5);
  EXPECT_DOUBLE_EQ(predict_iteration_s(std::vector<double>{100}, 3, 0), 3);
}

TEST(PredictIteration, BucketsAreExchangedWhileBackwardGoesOn) {
  // Buckets are ready after 2 s and 3 s. A short exchange exposes only its last part; a long one overlaps
  // only with the backward pass after the first bucket.
  EXPECT_DOUBLE_EQ(predict_iteration_s(std::vector<double>{50, 50}, 3, 1), 3.5);
  EXPECT_DOUBLE_EQ(predict_iteration_s(std::vector<double>{50, 50}, 3, 8), 10);
  // A first bucket with 10 % of the bytes is ready after 1.2 s.
  EXPECT_DOUBLE_EQ(predict_iteration_s(std::vector<double>{10, 90}, 3, 10), 12);
  EXPECT_DOUBLE_EQ(predict_iteration_s(std::vector<double>{10, 90}, 3, 20), 21.2);
}

// Every 4 iterations an exchange of 8 s, which 2 iterations of 3 s hide but for 2 s.
TEST(PredictIteration, HidesAnExchangeThatOverlapsWithLaterIterations) {
  const auto predicted = [](std::int64_t overlap, double exchange_s) {
    return predict_iteration_s(
        Json{{"bucket_bytes", {100}}, {"iterations_per_exchange", 4}, {"overlap_iterations", overlap}}, 3,
        exchange_s);
  };
  EXPECT_DOUBLE_EQ(predicted(2, 8.0 / 4), 3.5);
  EXPECT_DOUBLE_EQ(predicted(2, 1), 3);
  EXPECT_DOUBLE_EQ(predicted(0, 8.0 / 4), 5);
}

}  // namespace
}  // namespace thinpipe
