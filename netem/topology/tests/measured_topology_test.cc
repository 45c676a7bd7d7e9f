// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/measured_topology.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/topology/frame.hh"
#include "netem/topology/reduction_tree.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

using testing::ElementsAre;

constexpr double fast = 900e6;
constexpr double slow = 90e6;

// Each worker's island, by its number.
RateMatrix matrix_of(const std::vector<int>& island) {
  RateMatrix out(island.size(), std::vector<double>(island.size(), 0));
  for (std::size_t from = 0; from < island.size(); ++from) {
    for (std::size_t to = 0; to < island.size(); ++to) {
      if (from != to) out[from][to] = island[from] == island[to] ? fast : slow;
    }
  }
  return out;
}

std::vector<std::string> names(std::size_t workers) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < workers; ++i) out.push_back("w" + std::to_string(i));
  return out;
}

TEST(MeasuredTopology, FindsIslandsOfFastConnections) {
  EXPECT_THAT(islands_of(matrix_of({0, 0, 1, 1, 0})), ElementsAre(ElementsAre(0, 1, 4), ElementsAre(2, 3)));
  EXPECT_THAT(islands_of(matrix_of({0, 0, 0})), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(islands_of(matrix_of({0})), ElementsAre(ElementsAre(0)));
}

// A worker whose own link is slow is near whoever it is connected to as fast as it can be.
TEST(MeasuredTopology, JoinsASlowWorkerToTheOthers) {
  RateMatrix rates = matrix_of({0, 0, 0, 0});
  for (std::size_t other : {0, 1, 2}) rates[3][other] = rates[other][3] = slow;
  EXPECT_THAT(islands_of(rates), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

// One direction of a slow uplink is enough to keep workers apart.
TEST(MeasuredTopology, JudgesAPairByItsSlowerDirection) {
  RateMatrix rates = matrix_of({0, 0, 1, 1});
  rates[0][2] = fast;
  EXPECT_EQ(islands_of(rates).size(), 2U);
}

TEST(MeasuredTopology, ConnectsIslandsByTheirFastestLinks) {
  RateMatrix rates = matrix_of({0, 0, 1, 1, 2, 2});
  rates[2][4] = rates[4][2] = 3 * slow;  // between the second and the third
  const Topology topology = topology_of(rates, "measured", names(6));
  ASSERT_EQ(topology.links.size(), 8U);
  EXPECT_EQ(topology.links[0].a, "w0");
  EXPECT_NEAR(*topology.links[0].forward.rate_bit_per_s, fast / goodput_of_cap, 1);
  EXPECT_FALSE(topology.links[0].bottleneck);
  const Link& first = topology.links[6];
  EXPECT_EQ(first.a + first.b, "island0island1");
  EXPECT_TRUE(first.bottleneck);
  EXPECT_NEAR(*first.forward.rate_bit_per_s, slow / goodput_of_cap, 1);
  const Link& second = topology.links[7];
  EXPECT_EQ(second.a + second.b, "island1island2");
  EXPECT_NEAR(*second.backward.rate_bit_per_s, 3 * slow / goodput_of_cap, 1);
}

// The result is a topology like any other: it can be written, read, emulated and given a reduction tree.
TEST(MeasuredTopology, ReadsBackAndHasAReductionTree) {
  const Topology topology = topology_of(matrix_of({0, 0, 1, 1}), "measured", names(4));
  EXPECT_EQ(to_json(parse_topology(to_json(topology), {"measured", ""})), to_json(topology));
  EXPECT_THAT(reduction_tree_of(topology, 4), ElementsAre(-1, 0, 1, 2));
}

// The reduction tree decides on the order of sums, so noise must not choose between two roots.
TEST(MeasuredTopology, HasTheSameTreeWhateverTheNoise) {
  for (const double noise : {0.95, 1.05}) {
    RateMatrix rates = matrix_of({0, 0, 1, 1});
    for (std::size_t near : {0, 1}) {
      for (std::size_t far : {2, 3}) rates[near][far] *= noise;
    }
    EXPECT_THAT(reduction_tree_of(topology_of(rates, "measured", names(4)), 4), ElementsAre(-1, 0, 1, 2))
        << noise;
  }
}

TEST(MeasuredTopology, OfOneIslandHasTheHostsLinksAsBottlenecks) {
  const Topology topology = topology_of(matrix_of({0, 0}), "measured", names(2));
  EXPECT_EQ(topology.switches.size(), 1U);
  for (const Link& link : topology.links) EXPECT_TRUE(link.bottleneck);
}

// Rates beyond what a link can be capped at leave it uncapped.
TEST(MeasuredTopology, LeavesLinksUncappedThatAreTooFastForACap) {
  const Topology topology = topology_of({{0, 50e9}, {1e9, 0}}, "measured", names(2));
  EXPECT_EQ(topology.links[0].forward.rate_bit_per_s, std::nullopt);
  EXPECT_TRUE(topology.links[0].backward.rate_bit_per_s.has_value());
  for (const std::size_t islands : {1U, 2U}) {
    RateMatrix fast(4, std::vector<double>(4, 50e9));
    if (islands == 2) {
      for (const auto& [a, b] : {std::pair(0, 2), {0, 3}, {1, 2}, {1, 3}}) fast[a][b] = fast[b][a] = 20e9;
    }
    const Topology measured = topology_of(fast, "measured", names(4));
    EXPECT_EQ(measured.switches.size(), islands);
    EXPECT_NO_THROW(parse_topology(to_json(measured), {"measured", ""}));
  }
}

}  // namespace
}  // namespace thinpipe::netem
