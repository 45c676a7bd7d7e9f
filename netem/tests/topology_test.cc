#include "netem/topology.hh"

#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/shape.hh"

namespace thinpipe::netem {
namespace {

using testing::HasSubstr;

const std::string folder = THINPIPE_SOURCE_DIR "/topologies/";

// A small correct topology for tests to spoil.
Json two_switches() {
  return {{"name", "small"},
          {"switches", {"left", "right"}},
          {"hosts", {"a", "b", "c"}},
          {"links",
           {{{"between", {Json::array({"a", "b"}), "left"}}},
            {{"between", {"c", "right"}}},
            {{"between", {"left", "right"}}, {"rate", "100 Mbit/s"}, {"bottleneck", true}}}}};
}

void expect_refusal(const Json& value, const std::string& pointer, const std::string& part_of_message) {
  try {
    parse_topology(value, {"t.json", ""});
    ADD_FAILURE() << "accepted " << value;
  } catch (const InputError& error) {
    EXPECT_EQ(error.place().pointer, pointer) << error.what();
    EXPECT_THAT(error.message(), HasSubstr(part_of_message));
  }
}

Json spoiled(const std::function<void(Json&)>& spoil) {
  Json value = two_switches();
  spoil(value);
  return value;
}

TEST(TopologyTest, ReadsTheThreeSwitchTopology) {
  const Topology topology = load_topology(folder + "three-switch.json");
  EXPECT_EQ(topology.hosts.size(), 8U);
  EXPECT_EQ(topology.switches, (std::vector<std::string>{"left", "middle", "right"}));
  ASSERT_EQ(topology.links.size(), 10U);
  EXPECT_EQ(topology.links[3].a, "w3");
  EXPECT_EQ(topology.links[3].b, "middle");
  EXPECT_FALSE(topology.links[3].rate_bit_per_s);
  EXPECT_TRUE(topology.links[9].bottleneck);
  EXPECT_EQ(topology.links[9].rate_bit_per_s, 100e6);
}

TEST(TopologyTest, ReadsTheLoopbackTopology) {
  const Topology topology = load_topology(folder + "loopback.json");
  EXPECT_EQ(topology.kind, TopologyKind::loopback);
  EXPECT_EQ(topology.hosts.size(), 2U);
}

TEST(TopologyTest, NormalFormReadsBackAsItself) {
  for (const char* const name : {"three-switch.json", "loopback.json"}) {
    const Json normal = to_json(load_topology(folder + name));
    EXPECT_EQ(to_json(parse_topology(normal, {name, ""})), normal);
  }
}

TEST(TopologyTest, NormalFormFillsTheShape) {
  const Json normal = to_json(load_topology(folder + "three-switch.json"));
  EXPECT_EQ(normal["links"][9], (Json{{"between", {"middle", "right"}},
                                      {"bottleneck", true},
                                      {"rate", "100 Mbit/s"},
                                      {"burst", "4 kB"},
                                      {"queue", "125 kB"}}));
}

TEST(TopologyTest, BottleneckRateReplacesEveryBottlenecksCap) {
  Topology topology = load_topology(folder + "three-switch.json");
  set_bottleneck_rate(topology, 1e9, {"e.json", "/base/bottleneck/rate"});
  EXPECT_EQ(topology.links[8].rate_bit_per_s, 1e9);
  EXPECT_EQ(topology.links[9].rate_bit_per_s, 1e9);
  EXPECT_FALSE(topology.links[0].rate_bit_per_s);
  EXPECT_EQ(shape_of(topology.links[9]).burst_bytes, 32000);
}

TEST(TopologyTest, BottleneckRateNeedsABottleneckAndAFittingRate) {
  Topology loopback = load_topology(folder + "loopback.json");
  const Place place{"e.json", "/base/bottleneck/rate"};
  EXPECT_THROW(set_bottleneck_rate(loopback, 1e9, place), InputError);
  Topology topology = load_topology(folder + "three-switch.json");
  for (const double rate : {-1.0, 0.0, 99e3, 17e9}) {
    EXPECT_THROW(set_bottleneck_rate(topology, rate, place), InputError) << rate;
  }
}

TEST(TopologyTest, RefusesUnknownKeysAndKinds) {
  expect_refusal(spoiled([](Json& t) { t["swiches"] = 1; }), "/swiches", "did you mean \"switches\"");
  expect_refusal(spoiled([](Json& t) { t["links"][2]["rates"] = 1; }), "/links/2/rates",
                 "did you mean \"rate\"");
  expect_refusal(spoiled([](Json& t) { t["kind"] = "lopback"; }), "/kind", "did you mean \"loopback\"");
  expect_refusal(spoiled([](Json& t) { t.erase("hosts"); }), "", "\"hosts\" is missing");
  expect_refusal(spoiled([](Json& t) { t["links"] = 3; }), "/links", "must be a list");
}

TEST(TopologyTest, RefusesNames) {
  expect_refusal(spoiled([](Json& t) { t["hosts"][2] = "a"; }), "/hosts/2", "named twice");
  expect_refusal(spoiled([](Json& t) { t["hosts"][2] = "left"; }), "/hosts/2", "named twice");
  for (const char* const name : {"", "elevenchars", "a.b", "a/b", "a b", "0a", "-a"}) {
    expect_refusal(spoiled([&](Json& t) { t["hosts"][2] = name; }), "/hosts/2", "unfit as a device's name");
  }
  expect_refusal(spoiled([](Json& t) { t["switches"][0] = "much-too-long"; }), "/switches/0",
                 "1 to 10 letters");
}

TEST(TopologyTest, RefusesLinkEnds) {
  expect_refusal(spoiled([](Json& t) { t["links"][1]["between"] = "c"; }), "/links/1/between",
                 "a list of two ends");
  expect_refusal(spoiled([](Json& t) { t["links"][1]["between"] = Json::array({"c"}); }), "/links/1/between",
                 "a list of two ends");
  expect_refusal(
      spoiled([](Json& t) {
        t["links"][1]["between"] = Json::array({Json::array({"c", "a"}), Json::array({"right", "left"})});
      }),
      "/links/1/between", "only one of the two ends");
  expect_refusal(spoiled([](Json& t) { t["links"][1]["between"][1] = "rigth"; }), "/links/1/between/1",
                 "did you mean \"right\"");
  expect_refusal(spoiled([](Json& t) { t["links"][0]["between"][0][1] = "bb"; }), "/links/0/between/0/1",
                 "no switch or host is named \"bb\"");
}

TEST(TopologyTest, RefusesGraphs) {
  expect_refusal(spoiled([](Json& t) { t["links"].erase(1); }), "/hosts/2", "c has no link");
  expect_refusal(spoiled([](Json& t) { t["links"].erase(2); }), "/switches/1", "right cannot reach left");
  expect_refusal(spoiled([](Json& t) { t["hosts"].push_back("d"); }), "/hosts/3", "d has no link");
  expect_refusal(spoiled([](Json& t) {
                   t["links"].push_back({{"between", {"a", "right"}}});
                 }),
                 "/links/3/between/0", "the host a has a link already");
  expect_refusal(spoiled([](Json& t) {
                   t["links"].push_back({{"between", {"right", "left"}}});
                 }),
                 "/links/3/between/1", "closes a loop");
  expect_refusal(spoiled([](Json& t) {
                   t["links"].push_back({{"between", {"left", "left"}}});
                 }),
                 "/links/3/between/1", "closes a loop");
  expect_refusal({{"name", "lone"}, {"hosts", {"a"}}}, "/links", "use kind \"loopback\"");
  expect_refusal({{"name", "none"}, {"hosts", Json::array()}}, "/hosts", "names no host");
  expect_refusal({{"name", "l"}, {"kind", "loopback"}, {"hosts", {"a"}}, {"switches", {"s"}}}, "/switches",
                 "has no switches");
  expect_refusal(
      {{"name", "l"}, {"kind", "loopback"}, {"hosts", {"a", "b"}}, {"links", {{{"between", {"a", "b"}}}}}},
      "/links", "has no links");
}

TEST(TopologyTest, RefusesMoreHostsThanTheSubnetHolds) {
  Json hosts = Json::array();
  for (std::size_t i = 0; i <= most_hosts; ++i) hosts.push_back(fmt::format("w{}", i));
  expect_refusal({{"name", "big"}, {"kind", "loopback"}, {"hosts", hosts}}, "/hosts", "holds 65534");
}

TEST(TopologyTest, RefusesMoreLinksThanASwitchHasPorts) {
  Json hosts = Json::array();
  for (std::size_t i = 0; i <= most_links_of_a_switch; ++i) hosts.push_back(fmt::format("w{}", i));
  expect_refusal(
      {{"name", "star"}, {"switches", {"s"}}, {"hosts", hosts}, {"links", {{{"between", {hosts, "s"}}}}}},
      "/links/0/between/1", "1023 links already");
}

TEST(TopologyTest, RefusesCaps) {
  for (const char* const rate : {"0 Mbit/s", "-5 Mbit/s", "99 kbit/s", "17 Gbit/s"}) {
    expect_refusal(spoiled([&](Json& t) { t["links"][2]["rate"] = rate; }), "/links/2/rate",
                   "at least 100 kbit/s");
  }
  expect_refusal(spoiled([](Json& t) { t["links"][2]["rate"] = "100 MB"; }), "/links/2/rate", "unknown unit");
  expect_refusal(spoiled([](Json& t) { t["links"][2]["rate"] = 100; }), "/links/2/rate", "with a unit");
  expect_refusal(spoiled([](Json& t) { t["links"][2]["burst"] = "1514 bytes"; }), "/links/2",
                 "holds no full frame of 1514 bytes");
  expect_refusal(spoiled([](Json& t) { t["links"][2]["queue"] = "3 kB"; }), "/links/2",
                 "holds no burst of 4 kB");
  for (const char* const key : {"burst", "queue"}) {
    expect_refusal(spoiled([&](Json& t) { t["links"][1][key] = "9 kB"; }), std::string("/links/1/") + key,
                   "needs a \"rate\" beside it");
  }
  expect_refusal(spoiled([](Json& t) { t["links"][1]["bottleneck"] = true; }), "/links/1/bottleneck",
                 "needs a \"rate\" beside it");
}

TEST(ShapeTest, FollowsTheRate) {
  const auto shape_at = [](double rate) { return shape_of({.a = "a", .b = "b", .rate_bit_per_s = rate}); };
  EXPECT_EQ(shape_at(100e6).burst_bytes, 4000);
  EXPECT_EQ(shape_at(500e6).burst_bytes, 16000);
  EXPECT_EQ(shape_at(1e9).burst_bytes, 32000);
  EXPECT_EQ(shape_at(100e6).queue_bytes, 125e3);
  EXPECT_EQ(shape_at(1e9).queue_bytes, 1.25e6);
  EXPECT_EQ(shape_at(1e6).queue_bytes, 16 * 1514);
}

TEST(ShapeTest, LargestSegmentPassesTheBurstWhole) {
  for (const double burst : {4000.0, 16000.0, 32000.0, 512000.0}) {
    // The kernel takes at least 200 bytes off for headers; each frame of 1448 bytes of payload weighs 1514.
    const double frames = (largest_segment_bytes(burst) - 200.0) / 1448;
    EXPECT_LE(frames * 1514, burst);
  }
}

}  // namespace
}  // namespace thinpipe::netem
