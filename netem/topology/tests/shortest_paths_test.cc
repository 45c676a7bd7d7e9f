// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/shortest_paths.hh"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/topology/tests/topologies.hh"

namespace thinpipe::netem {
namespace {

using testing::ElementsAre;

// Returns the nodes on the path between two hosts.
std::vector<std::string> way(const Topology& topology, const std::string& from, const std::string& to) {
  const auto index = [&](const std::string& host) {
    return static_cast<std::size_t>(std::ranges::find(topology.hosts, host) - topology.hosts.begin());
  };
  std::vector<std::string> nodes = {from};
  for (const DirectedLink& directed_link : ShortestPaths(topology).path(index(from), index(to))) {
    const Link& link = topology.links[directed_link.link];
    EXPECT_EQ(directed_link.forward ? link.a : link.b, nodes.back());
    nodes.push_back(directed_link.forward ? link.b : link.a);
  }
  return nodes;
}

TEST(ShortestPathsTest, AreTheOnlyWayThroughATree) {
  const Topology topology = shipped("three-switch");
  EXPECT_THAT(way(topology, "w0", "w7"), ElementsAre("w0", "left", "middle", "right", "w7"));
  EXPECT_THAT(way(topology, "w4", "w3"), ElementsAre("w4", "middle", "w3"));
  EXPECT_THAT(way(topology, "w4", "w4"), ElementsAre("w4"));
}

TEST(ShortestPathsTest, TakeTheShorterWayRound) {
  const Topology topology = shipped("ring-of-sites");
  EXPECT_THAT(way(topology, "w0", "w9"), ElementsAre("w0", "site0", "site4", "w9"));
  EXPECT_THAT(way(topology, "w1", "w4"), ElementsAre("w1", "site0", "site1", "site2", "w4"));
  EXPECT_THAT(way(topology, "w2", "w8"), ElementsAre("w2", "site1", "site0", "site4", "w8"));
}

TEST(ShortestPathsTest, TakeTheDirectLinkBetweenTwoSites) {
  EXPECT_THAT(way(shipped("wan-4-sites"), "w0", "w6"), ElementsAre("w0", "virginia", "saopaulo", "w6"));
}

TEST(ShortestPathsTest, ShareTheWaysOfAFatTreeEvenly) {
  const Topology topology = shipped("fat-tree");
  const ShortestPaths shortest_paths(topology);
  std::map<std::string, int> pairs_over;
  for (std::size_t from = 0; from < topology.hosts.size(); ++from) {
    for (std::size_t to = 0; to < topology.hosts.size(); ++to) {
      const std::vector<DirectedLink> path = shortest_paths.path(from, to);
      const std::size_t links = from == to ? 0 : from / 2 == to / 2 ? 2 : from / 4 == to / 4 ? 4 : 6;
      EXPECT_EQ(path.size(), links) << from << " to " << to;
      for (const DirectedLink& directed_link : path) {
        const Link& link = topology.links[directed_link.link];
        if (link.bottleneck) ++pairs_over[fmt::format("{}-{} {}", link.a, link.b, directed_link.forward)];
      }
    }
  }
  // 4 hosts of a pod send to 12 outside it over 4 links to the cores; 2 of an edge switch send to 14.
  ASSERT_EQ(pairs_over.size(), 64U);
  for (const auto& [direction, pairs] : pairs_over) {
    EXPECT_EQ(pairs, direction.find("core") != std::string::npos ? 12 : 14) << direction;
  }
}

TEST(ShortestPathsTest, AreTheSameEveryTime) {
  const Topology topology = shipped("fat-tree");
  const ShortestPaths once(topology);
  const ShortestPaths again(topology);
  for (std::size_t from = 0; from < topology.hosts.size(); ++from) {
    for (std::size_t to = 0; to < topology.hosts.size(); ++to) {
      EXPECT_EQ(once.path(from, to), again.path(from, to));
    }
  }
}

}  // namespace
}  // namespace thinpipe::netem
