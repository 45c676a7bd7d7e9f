// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/reduction_tree.hh"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/topology/hops.hh"
#include "netem/topology/tests/topologies.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

using testing::ElementsAre;

// Counts how often the tree's edges, in both directions, cross each direction of a bottleneck.
std::map<std::string, int> crossings(const Topology& topology, const std::vector<int>& parents) {
  const HostPaths paths(topology);
  std::map<std::string, int> out;
  const auto count = [&](std::size_t from, std::size_t to) {
    for (const Hop& hop : paths.between(topology.hosts[from], topology.hosts[to])) {
      if (hop.link->bottleneck) ++out[hop.name()];
    }
  };
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    if (parents[rank] < 0) continue;
    count(rank, static_cast<std::size_t>(parents[rank]));
    count(static_cast<std::size_t>(parents[rank]), rank);
  }
  return out;
}

int depth_of(const std::vector<int>& parents, std::size_t rank) {
  int depth = 0;
  for (int next = parents.at(rank); next >= 0; next = parents.at(static_cast<std::size_t>(next))) {
    if (++depth > static_cast<int>(parents.size())) throw Error("the tree has a loop");
  }
  return depth;
}

TEST(ReductionTree, OfTheThreeSwitchesHasItsRootInTheMiddle) {
  const Topology topology = three_switch();
  const std::vector<int> parents = reduction_tree_of(topology, 8);
  EXPECT_THAT(parents, ElementsAre(4, 0, 0, -1, 3, 3, 5, 5));
  EXPECT_EQ(crossings(topology, parents),
            (std::map<std::string, int>{
                {"left->middle", 1}, {"middle->left", 1}, {"right->middle", 1}, {"middle->right", 1}}));
}

TEST(ReductionTree, OfFewerWorkersLeavesOutEmptyIslands) {
  EXPECT_THAT(reduction_tree_of(three_switch(), 1), ElementsAre(-1));
  EXPECT_THAT(reduction_tree_of(three_switch(), 3), ElementsAre(-1, 0, 0));
  EXPECT_THAT(reduction_tree_of(three_switch(), 4), ElementsAre(-1, 0, 0, 1));
}

// A host's own link carries a share for each neighbour: at twice the bottleneck's cap it can carry two.
TEST(ReductionTree, IsAChainInsideIslandsWhereHostsOwnLinksWouldHoldUpTheRest) {
  EXPECT_THAT(reduction_tree_of(shipped("two-rack"), 8), ElementsAre(-1, 0, 1, 2, 3, 4, 5, 6));
  Topology topology = three_switch();
  const auto cap_hosts_at = [&topology](std::optional<double> rate_bit_per_s) {
    for (Link& link : topology.links) {
      if (!link.bottleneck) link.forward.rate_bit_per_s = link.backward.rate_bit_per_s = rate_bit_per_s;
    }
    return reduction_tree_of(topology, 8);
  };
  const std::vector<int> binary = cap_hosts_at(std::nullopt);
  const std::vector<int> chain = {4, 0, 1, -1, 3, 3, 5, 6};
  EXPECT_EQ(cap_hosts_at(3e8), binary);
  EXPECT_EQ(cap_hosts_at(2.9e8), chain);
  EXPECT_EQ(cap_hosts_at(1e8), chain);
}

TEST(ReductionTree, WithoutANetworkIsBinary) {
  EXPECT_THAT(reduction_tree_of(shipped("loopback"), 2), ElementsAre(-1, 0));
}

TEST(ReductionTree, OfEveryShippedTopologyIsATree) {
  for (const char* name : {"dumbbell", "fat-tree", "pair", "ring-of-sites", "star", "two-rack", "wan-4-sites",
                           "sites", "federation"}) {
    const Topology topology = shipped(name);
    const std::vector<int> parents = reduction_tree_of(topology, topology.hosts.size());
    ASSERT_EQ(parents.size(), topology.hosts.size()) << name;
    EXPECT_EQ(std::ranges::count(parents, -1), 1) << name;
    for (std::size_t rank = 0; rank < parents.size(); ++rank) EXPECT_GE(depth_of(parents, rank), 0) << name;
  }
}

TEST(ReductionTree, CountsTheWorkersOfEachBranch) {
  EXPECT_THAT(workers_below({4, 0, 0, -1, 3, 3, 5, 5}), ElementsAre(3, 1, 1, 8, 4, 3, 1, 1));
  EXPECT_THAT(workers_below({}), ElementsAre());
}

// Links of one cap between each two sites: a chain would be no faster, and twice as deep.
TEST(ReductionTree, AMeshOfSitesIsAStar) {
  const Topology topology = shipped("sites");
  const std::vector<int> parents = reduction_tree_of(topology, 8);
  for (const auto& [hop, count] : crossings(topology, parents)) EXPECT_EQ(count, 1) << hop;
  const HostPaths paths(topology);
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    int long_hops = 0;
    for (std::size_t below = rank; parents[below] >= 0; below = static_cast<std::size_t>(parents[below])) {
      const auto parent = static_cast<std::size_t>(parents[below]);
      for (const Hop& hop : paths.between(topology.hosts[below], topology.hosts[parent]))
        long_hops += hop.link->bottleneck ? 1 : 0;
    }
    EXPECT_LE(long_hops, 1) << "worker " << rank;
  }
}

// A switch without hosts joins the islands: if all others sent to one worker, its island's link would carry
// three times the bytes.
TEST(ReductionTree, IslandsAroundASwitchFormAChain) {
  const Topology topology =
      parse_topology(Json::parse(R"({"name": "hub", "switches": ["hub", "a", "b", "c", "d"],
        "hosts": ["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2"], "links": [
        {"between": [["a1", "a2"], "a"]}, {"between": [["b1", "b2"], "b"]}, {"between": [["c1", "c2"], "c"]},
        {"between": [["d1", "d2"], "d"]},
        {"between": [["a", "b", "c", "d"], "hub"], "rate": "100 Mbit/s", "bottleneck": true}]})"),
                     {"hub.json", ""});
  for (const auto& [hop, count] : crossings(topology, reduction_tree_of(topology, 8)))
    EXPECT_LE(count, 2) << hop;
}

// The two near pairs join first, whatever the order of ranks.
TEST(ReductionTree, IslandsHangOnTheNearest) {
  const Topology topology = parse_topology(
      Json::parse(R"({"name": "far", "switches": ["a", "b", "c"], "hosts": ["a1", "b1", "c1"], "links": [
        {"between": ["a1", "a"]}, {"between": ["b1", "b"]}, {"between": ["c1", "c"]},
        {"between": ["a", "b"], "rate": "10 Mbit/s", "bottleneck": true},
        {"between": ["a", "c"], "rate": "100 Mbit/s", "bottleneck": true}]})"),
      {"far.json", ""});
  EXPECT_THAT(reduction_tree_of(topology, 3), ElementsAre(-1, 0, 0));
}

}  // namespace
}  // namespace thinpipe::netem
