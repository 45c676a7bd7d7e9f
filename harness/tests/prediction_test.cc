#include "harness/prediction.hh"

#include <gtest/gtest.h>

#include "netem/topology.hh"

namespace thinpipe {
namespace {

netem::Topology three_switch() {
  return netem::load_topology(THINPIPE_SOURCE_DIR "/topologies/three-switch.json");
}

TEST(Predict, ARingInRankOrderCrossesEachBottleneckOnceInEachDirection) {
  netem::Topology topology = three_switch();
  netem::set_bottleneck_rate(topology, 1e8, {});
  const auto prediction = predict(topology, 8, 1e6);
  ASSERT_TRUE(prediction);
  EXPECT_DOUBLE_EQ(prediction->wire_bytes_per_iteration, 1e6 * 1514 / 1448);
  EXPECT_DOUBLE_EQ(prediction->exchange_time_s, 0.08 * 1514 / 1448);
}

TEST(Predict, ALoopIsCrossedTheShorterWay) {
  const netem::Topology ring = netem::load_topology(THINPIPE_SOURCE_DIR "/topologies/ring-of-sites.json");
  const auto prediction = predict(ring, 10, 1e6);
  ASSERT_TRUE(prediction);
  // In rank order every link between sites is crossed once, in one direction.
  EXPECT_DOUBLE_EQ(prediction->wire_bytes_per_iteration, 1e6 * 1514 / 1448);
  EXPECT_EQ(prediction->link, "site0->site1");
}

TEST(Predict, ASlowDirectionDecides) {
  netem::Topology topology = three_switch();
  topology.links.back().backward.rate_bit_per_s = 10e6;
  const auto prediction = predict(topology, 8, 1e6);
  ASSERT_TRUE(prediction);
  EXPECT_EQ(prediction->link, "right->middle");
  EXPECT_DOUBLE_EQ(prediction->exchange_time_s, 0.8 * 1514 / 1448);
}

TEST(Predict, WorkersOfOneIslandCrossNoBottleneck) {
  EXPECT_FALSE(predict(three_switch(), 3, 1e6));
  EXPECT_FALSE(predict(three_switch(), 1, 1e6));
  EXPECT_TRUE(predict(three_switch(), 4, 1e6));
}

}  // namespace
}  // namespace thinpipe
