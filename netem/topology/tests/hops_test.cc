// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/hops.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/host_names.hh"
#include "netem/kernel/probe.hh"
#include "netem/topology/tests/topologies.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Topology parsed(const char* text) {
  return parse_topology(Json::parse(text), {"t.json", ""});
}

std::vector<std::string> names(const std::vector<Hop>& hops) {
  std::vector<std::string> out;
  for (const Hop& hop : hops) out.push_back(hop.name());
  return out;
}

TEST(HopsTest, AWayNamesEveryLinkInItsDirection) {
  const Topology topology = three_switch();
  EXPECT_THAT(names(HostPaths(topology).between("w7", "w0")),
              ElementsAre("w7->right", "right->middle", "middle->left", "left->w0"));
  EXPECT_THAT(names(HostPaths(topology).between("w0", "w1")), ElementsAre("w0->left", "left->w1"));
  EXPECT_THAT(HostPaths(topology).between("w0", "w0"), IsEmpty());
}

TEST(HopsTest, TheNarrowestHopIsTheFirstOfTheLowestCap) {
  const Topology topology = parsed(R"({"name": "n", "switches": ["l", "r"], "hosts": ["a", "b"], "links": [
      {"between": ["a", "l"], "rate": "1 Gbit/s"}, {"between": ["l", "r"], "rate": "100 Mbit/s"},
      {"between": ["b", "r"], "rate": "100 Mbit/s"}]})");
  EXPECT_EQ(narrowest(HostPaths(topology).between("a", "b"))->name(), "l->r");
  EXPECT_EQ(narrowest(HostPaths(topology).between("b", "a"))->name(), "b->r");
  const Topology uncapped = three_switch();
  EXPECT_FALSE(narrowest(HostPaths(uncapped).between("w0", "w1")));
}

TEST(HopsTest, EachDirectionOfALinkHasItsOwnCapAndImpairments) {
  const Topology topology = parsed(R"({"name": "n", "hosts": ["a", "b"], "links": [{"between": ["a", "b"],
      "forward": {"rate": "100 Mbit/s", "delay": "20 ms", "loss": 0.1}}]})");
  const HostPaths paths(topology);
  EXPECT_EQ(narrowest(paths.between("a", "b"))->name(), "a->b");
  EXPECT_FALSE(narrowest(paths.between("b", "a")));
  EXPECT_THAT(names(capped_hops(topology)), ElementsAre("a->b"));
  EXPECT_DOUBLE_EQ(impairments_of(paths.between("a", "b")).delay_s, 0.02);
  EXPECT_DOUBLE_EQ(impairments_of(paths.between("a", "b")).loss, 0.1);
  EXPECT_FALSE(impairments_of(paths.between("b", "a")).any());
}

// A frame that is copied and lost arrives once.
TEST(HopsTest, CopiesMakeUpForLosses) {
  const auto never_arrives = [](const char* there, const char* on) {
    const Topology topology =
        parsed(fmt::format(R"({{"name": "n", "switches": ["s"], "hosts": ["a", "b"], "links": [
            {{"between": ["a", "s"], "forward": {{"rate": "100 Mbit/s", {}}}}},
            {{"between": ["s", "b"], "forward": {{"rate": "100 Mbit/s", {}}}}}]}})",
                           there, on)
                   .c_str());
    return share_that_never_arrives(HostPaths(topology).between("a", "b"));
  };
  EXPECT_DOUBLE_EQ(never_arrives(R"("loss": 0.1)", R"("loss": 0.2)"), 1 - 0.9 * 0.8);
  EXPECT_DOUBLE_EQ(never_arrives(R"("loss": 0.1, "duplication": 0.5)", R"("delay": "1 ms")"), 0.05);
  // If the first link copies a frame, the second one must lose both.
  EXPECT_DOUBLE_EQ(never_arrives(R"("duplication": 0.5)", R"("loss": 0.2)"), 0.5 * 0.2 + 0.5 * 0.2 * 0.2);
}

TEST(HopsTest, ImpairmentsOfAWayAddUp) {
  const Topology topology = parsed(R"({"name": "n", "switches": ["s"], "hosts": ["a", "b"], "links": [
      {"between": ["a", "s"], "rate": "1 Mbit/s", "delay": "20 ms", "jitter": "1 ms", "loss": 0.5},
      {"between": ["s", "b"], "rate": "1 Mbit/s", "delay": "30 ms", "jitter": "2 ms", "loss": 0.5}]})");
  const Impairments way = impairments_of(HostPaths(topology).between("a", "b"));
  EXPECT_DOUBLE_EQ(way.delay_s, 0.05);
  EXPECT_DOUBLE_EQ(way.jitter_s, 0.003);
  EXPECT_DOUBLE_EQ(way.loss, 0.75);
  EXPECT_EQ(way.duplication, 0);
}

TEST(HopsTest, HostsHaveTimeToConnectOverDelayedLinks) {
  EXPECT_EQ(connect_limit_s(three_switch()), 5);
  const char* const delayed = R"({"name": "n", "switches": ["l", "r"], "hosts": ["a", "b", "c"], "links": [
      {"between": ["a", "l"], "rate": "1 Gbit/s", "forward": {"delay": "2 s", "jitter": "1 s"}},
      {"between": [["b", "c"], "r"], "rate": "1 Gbit/s", "delay": "1 s"},
      {"between": ["l", "r"], "rate": "100 Mbit/s", "delay": "3 s")";
  // A round trip takes 6 s between the switches, and at most 3 s at either host.
  EXPECT_DOUBLE_EQ(connect_limit_s(parsed((std::string(delayed) + "}]}").c_str())), 5 + 4 * (6 + 2 * 3));
  EXPECT_DOUBLE_EQ(connect_limit_s(parsed((std::string(delayed) + R"(, "loss": 0.01}]})").c_str())),
                   60 + 4 * (6 + 2 * 3));
}

TEST(HopsTest, CappedHopsAreBothDirectionsOfEachCap) {
  const Topology topology = three_switch();
  EXPECT_THAT(names(capped_hops(topology)),
              ElementsAre("left->middle", "middle->left", "middle->right", "right->middle"));
}

TEST(HopsTest, HostsAcrossALinkCrossNoOtherCapWhereThatIsPossible) {
  const Topology topology = three_switch();
  std::vector<std::pair<std::string, std::string>> across;
  for (const Hop& hop : capped_hops(topology))
    across.push_back(HostPaths(topology).hosts_across(hop).value());
  EXPECT_THAT(across, ElementsAre(Pair("w2", "w3"), Pair("w3", "w2"), Pair("w4", "w5"), Pair("w5", "w4")));
}

TEST(HopsTest, AHostIsFoundAtTheEndOfItsOwnLink) {
  const Topology topology = parsed(R"({"name": "n", "switches": ["s"], "hosts": ["a", "b", "c"], "links": [
      {"between": [["a", "b"], "s"]}, {"between": ["c", "s"], "rate": "1 Mbit/s"}]})");
  EXPECT_EQ(HostPaths(topology).hosts_across(capped_hops(topology)[0]),
            std::pair(std::string("c"), std::string("b")));
}

TEST(HopsTest, ALinkToWhereNoHostIsHasNoHostsAcross) {
  const Topology topology =
      parsed(R"({"name": "n", "switches": ["s", "empty"], "hosts": ["a", "b"], "links": [
      {"between": [["a", "b"], "s"]}, {"between": ["s", "empty"], "rate": "1 Mbit/s"}]})");
  EXPECT_FALSE(HostPaths(topology).hosts_across(capped_hops(topology)[0]));
}

TEST(HopsTest, IslandsEndAtBottlenecks) {
  EXPECT_THAT(islands(three_switch()), ElementsAre(ElementsAre("w0", "w1", "w2"), ElementsAre("w3", "w4"),
                                                   ElementsAre("w5", "w6", "w7")));
}

TEST(ProbeTest, JainIndexTellsHowEvenlyALinkIsShared) {
  EXPECT_DOUBLE_EQ(jain_index({5, 5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(jain_index({5, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index({3, 1}), 0.8);
  EXPECT_EQ(jain_index({0, 0}), 0);
}

TEST(ProbeTest, AnIdealMessageTakesItsFramesTime) {
  EXPECT_DOUBLE_EQ(ideal_message_s(1448, 8 * 1514), 1);
}

TEST(HostNamesTest, TheNetworksHostsComeBeforeTheMachinesOwn) {
  std::vector<Host> hosts;
  hosts.push_back({.name = "w0", .address = "10.77.0.1"});
  hosts.push_back({.name = "w1", .address = "10.77.0.2"});
  EXPECT_EQ(hosts_file(hosts, "127.0.0.1\tlocalhost\n"),
            "10.77.0.1\tw0\t# thinpipe\n10.77.0.2\tw1\t# thinpipe\n127.0.0.1\tlocalhost\n");
}

TEST(HostNamesTest, HostsOfAnotherNetworkAreForgotten) {
  const std::string outer = "10.77.0.9\tw8\t# thinpipe\n127.0.0.1\tlocalhost # as ever";
  EXPECT_EQ(hosts_file({}, outer), "127.0.0.1\tlocalhost # as ever\n");
}

TEST(HostNamesTest, NamesAreLookedUpInTheFileAlone) {
  EXPECT_EQ(name_service_file("passwd: files\nhosts: resolve [!UNAVAIL=return] dns\nservices: files"),
            "passwd: files\nservices: files\nhosts: files\n");
}

// The first host of the star is slower than the others, so only these fill each other's links.
TEST(HopsTest, HostsThatFillALinkAreFoundAmongAll) {
  const Topology star = parsed(R"({"name": "n", "switches": ["s"], "hosts": ["a", "b", "c"], "links": [
      {"between": ["a", "s"], "rate": "10 Mbit/s"}, {"between": ["b", "s"], "rate": "100 Mbit/s"},
      {"between": ["c", "s"], "rate": "100 Mbit/s"}]})");
  const HostPaths paths(star);
  for (const Hop& hop : capped_hops(star)) {
    EXPECT_EQ(paths.hosts_that_fill(hop).obstacle, "") << hop.name();
  }
  const Topology diamond = parsed(R"({"name": "n", "forwarding": "routed", "switches": ["l", "m", "n", "r"],
      "hosts": ["a0", "a1", "b0", "b1"], "links": [{"between": [["a0", "a1"], "l"]}, {"between": [["b0", "b1"], "r"]},
      {"between": ["l", "m"], "rate": "1 Mbit/s"}, {"between": ["m", "r"], "rate": "1 Mbit/s"},
      {"between": ["l", "n"], "rate": "1 Mbit/s"}, {"between": ["n", "r"], "rate": "1 Mbit/s"}]})");
  const HostPaths routes(diamond);
  for (const Hop& hop : capped_hops(diamond)) {
    EXPECT_EQ(routes.hosts_that_fill(hop).obstacle, "") << hop.name();
  }
}

TEST(HopsTest, UncappedGroupsEndAtEveryCap) {
  using testing::ElementsAre;
  EXPECT_THAT(
      uncapped_groups(three_switch()),
      ElementsAre(ElementsAre("w0", "w1", "w2"), ElementsAre("w3", "w4"), ElementsAre("w5", "w6", "w7")));
  const Topology half = parsed(R"({"name": "n", "switches": ["s"], "hosts": ["a", "b", "c"], "links": [
      {"between": ["a", "s"]}, {"between": ["b", "s"], "backward": {"rate": "1 Mbit/s"}}, {"between": ["c", "s"]}]})");
  EXPECT_THAT(uncapped_groups(half), ElementsAre(ElementsAre("a", "c"), ElementsAre("b")));
}

}  // namespace
}  // namespace thinpipe::netem
