#include "netem/topology/routes.hh"

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
  for (const Crossing& crossing : Routes(topology).path(index(from), index(to))) {
    const Link& link = topology.links[crossing.link];
    EXPECT_EQ(crossing.forward ? link.a : link.b, nodes.back());
    nodes.push_back(crossing.forward ? link.b : link.a);
  }
  return nodes;
}

TEST(RoutesTest, AreTheOnlyWayThroughATree) {
  const Topology topology = shipped("three-switch");
  EXPECT_THAT(way(topology, "w0", "w7"), ElementsAre("w0", "left", "middle", "right", "w7"));
  EXPECT_THAT(way(topology, "w4", "w3"), ElementsAre("w4", "middle", "w3"));
  EXPECT_THAT(way(topology, "w4", "w4"), ElementsAre("w4"));
}

TEST(RoutesTest, TakeTheShorterWayRound) {
  const Topology topology = shipped("ring-of-sites");
  EXPECT_THAT(way(topology, "w0", "w9"), ElementsAre("w0", "site0", "site4", "w9"));
  EXPECT_THAT(way(topology, "w1", "w4"), ElementsAre("w1", "site0", "site1", "site2", "w4"));
  EXPECT_THAT(way(topology, "w2", "w8"), ElementsAre("w2", "site1", "site0", "site4", "w8"));
}

TEST(RoutesTest, TakeTheDirectLinkBetweenTwoSites) {
  EXPECT_THAT(way(shipped("wan-4-sites"), "w0", "w6"), ElementsAre("w0", "virginia", "saopaulo", "w6"));
}

TEST(RoutesTest, ShareTheWaysOfAFatTreeEvenly) {
  const Topology topology = shipped("fat-tree");
  const Routes routes(topology);
  std::map<std::string, int> pairs_over;
  for (std::size_t from = 0; from < topology.hosts.size(); ++from) {
    for (std::size_t to = 0; to < topology.hosts.size(); ++to) {
      const std::vector<Crossing> path = routes.path(from, to);
      const std::size_t links = from == to ? 0 : from / 2 == to / 2 ? 2 : from / 4 == to / 4 ? 4 : 6;
      EXPECT_EQ(path.size(), links) << from << " to " << to;
      for (const Crossing& crossing : path) {
        const Link& link = topology.links[crossing.link];
        if (link.bottleneck) ++pairs_over[fmt::format("{}-{} {}", link.a, link.b, crossing.forward)];
      }
    }
  }
  // 4 hosts of a pod send to 12 outside it over 4 links to the cores; 2 of an edge switch send to 14.
  ASSERT_EQ(pairs_over.size(), 64U);
  for (const auto& [direction, pairs] : pairs_over) {
    EXPECT_EQ(pairs, direction.find("core") != std::string::npos ? 12 : 14) << direction;
  }
}

TEST(RoutesTest, AreTheSameEveryTime) {
  const Topology topology = shipped("fat-tree");
  const Routes once(topology);
  const Routes again(topology);
  for (std::size_t from = 0; from < topology.hosts.size(); ++from) {
    for (std::size_t to = 0; to < topology.hosts.size(); ++to) {
      EXPECT_EQ(once.path(from, to), again.path(from, to));
    }
  }
}

}  // namespace
}  // namespace thinpipe::netem
