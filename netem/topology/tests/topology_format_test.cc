// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/topology_format.hh"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/json_schema.hh"
#include "common/support/tests/paths.hh"
#include "netem/topology/tests/small_topology.hh"
#include "netem/topology/topology_settings.hh"

namespace thinpipe::netem {
namespace {

using testing::ElementsAre;

const std::string folder = source_path("topologies/");

TEST(TopologyFormat, ReadsTheThreeSwitchTopology) {
  const Topology topology = load_topology(folder + "three-switch.json");
  EXPECT_EQ(topology.hosts.size(), 8U);
  EXPECT_EQ(topology.switches, (std::vector<std::string>{"left", "middle", "right"}));
  ASSERT_EQ(topology.links.size(), 10U);
  EXPECT_EQ(topology.links[3].a, "w3");
  EXPECT_EQ(topology.links[3].b, "middle");
  EXPECT_FALSE(topology.links[3].forward.rate_bit_per_s);
  EXPECT_TRUE(topology.links[9].bottleneck);
  EXPECT_EQ(topology.links[9].forward.rate_bit_per_s, 100e6);
}

TEST(TopologyFormat, ReadsTheLoopbackTopology) {
  const Topology topology = load_topology(folder + "loopback.json");
  EXPECT_EQ(topology.kind, TopologyKind::loopback);
  EXPECT_EQ(topology.hosts.size(), 2U);
}

TEST(TopologyFormat, ReadsTheTopologyOfAClusterAndWritesIt) {
  const Json text = {
      {"name", "c"}, {"kind", "cluster"}, {"hosts", {{"w", 2}}}, {"network_interface", "10.1.0.0/16"}};
  const Topology topology = parse_topology(text, {"t.json", ""});
  EXPECT_EQ(topology.kind, TopologyKind::cluster);
  EXPECT_FALSE(topology.is_emulated());
  EXPECT_EQ(topology.network_interface, "10.1.0.0/16");
  EXPECT_FALSE(topology.meets_in_folder);
  EXPECT_FALSE(to_json(topology).contains("rendezvous"));
  EXPECT_EQ(to_json(parse_topology(to_json(topology), {"t.json", ""})), to_json(topology));
  Json in_folder = text;
  in_folder["rendezvous"] = "folder";
  EXPECT_TRUE(parse_topology(in_folder, {"t.json", ""}).meets_in_folder);
  EXPECT_EQ(to_json(parse_topology(in_folder, {"t.json", ""})).at("rendezvous"), "folder");
}

// Returns the file names of the bundled topologies.
std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  return names;
}

TEST(ShippedTopologiesTest, AreTheseAndFollowTheSchema) {
  EXPECT_THAT(shipped_names(),
              testing::UnorderedElementsAre("three-switch", "pair", "star", "two-rack", "dumbbell",
                                            "fat-tree", "ring-of-sites", "three-router", "wan-4-sites",
                                            "sites", "federation", "loopback", "cluster-4"));
  for (const std::string& name : shipped_names()) {
    const Json text = parse_json_file(folder + name + ".json");
    EXPECT_THAT(published_schema("topology").violations(text), testing::IsEmpty()) << name;
    EXPECT_EQ(text["$schema"], "../harness/schema/topology.schema.json") << name;
    const Topology topology = load_topology(folder + name + ".json");
    EXPECT_EQ(topology.name, name);
    EXPECT_FALSE(topology.description.empty()) << name;
  }
}

TEST(ShippedTopologiesTest, NormalFormReadsBackAsItselfAndFollowsTheSchema) {
  for (const std::string& name : shipped_names()) {
    const Json normal = to_json(load_topology(folder + name + ".json"));
    EXPECT_EQ(to_json(parse_topology(normal, {name, ""})), normal);
    EXPECT_THAT(published_schema("topology").violations(normal), testing::IsEmpty()) << name;
  }
}

TEST(SchemaTest, KnowsTheReadersKeysAndNoOthers) {
  // The reader's error for an unknown key ends with a list of all known keys.
  const auto known = [](const Json& value) {
    try {
      parse_topology(value, {"t.json", ""});
    } catch (const InputError& error) {
      const std::string& message = error.message();
      return message.substr(message.find("known: ") + 7);
    }
    return std::string();
  };
  const auto declared = [](const Json& properties) {
    std::vector<std::string> keys;
    for (const auto& [key, unused] : properties.items()) {
      if (key != "$schema") keys.push_back(key);
    }
    std::ranges::sort(keys);
    return keys;
  };
  const auto listed = [](const std::string& text) {
    std::vector<std::string> keys;
    std::istringstream in(text);
    for (std::string key; std::getline(in >> std::ws, key, ',');) keys.push_back(key);
    std::ranges::sort(keys);
    return keys;
  };
  const Json schema = parse_json_file(source_path("harness/schema/topology.schema.json"));
  EXPECT_EQ(listed(known(spoiled([](Json& t) { t["qqqqqqqqqqq"] = 1; }))), declared(schema["properties"]));
  EXPECT_EQ(listed(known(spoiled([](Json& t) { t["links"][2]["qqqqqqqqqqq"] = 1; }))),
            declared(schema["definitions"]["link"]["properties"]));
  EXPECT_EQ(listed(known(spoiled([](Json& t) { t["links"][2]["forward"]["qqqqqqqqqqq"] = 1; }))),
            declared(schema["definitions"]["direction"]["properties"]));
}

TEST(TopologyFormat, NormalFormFillsTheShape) {
  const Json normal = to_json(load_topology(folder + "three-switch.json"));
  EXPECT_EQ(normal["links"][9], (Json{{"between", {"middle", "right"}},
                                      {"bottleneck", true},
                                      {"rate", "100 Mbit/s"},
                                      {"burst", "4 kB"},
                                      {"queue", "125 kB"},
                                      {"queueing", "fair"}}));
}

TEST(TopologyFormat, EcnIsKeptIfItIsOn) {
  Json text = two_switches();
  text["links"][2]["queueing"] = "red";
  EXPECT_FALSE(to_json(parse_topology(text, {"t.json", ""}))["links"][3].contains("ecn"));
  EXPECT_FALSE(has_ecn(parse_topology(text, {"t.json", ""})));
  text["links"][2]["backward"] = {{"ecn", true}};
  const Json normal = to_json(parse_topology(text, {"t.json", ""}));
  EXPECT_EQ(normal["links"][3]["backward"]["ecn"], true);
  EXPECT_FALSE(normal["links"][3]["forward"].contains("ecn"));
  EXPECT_TRUE(has_ecn(parse_topology(normal, {"t.json", ""})));
}

TEST(TopologyFormat, ACongestionControlIsKeptUnlessItIsTheDefault) {
  Json text = parse_json_file(folder + "three-switch.json");
  EXPECT_FALSE(to_json(parse_topology(text, {"t.json", ""})).contains("congestion_control"));
  text["congestion_control"] = "cubic";
  EXPECT_FALSE(to_json(parse_topology(text, {"t.json", ""})).contains("congestion_control"));
  text["congestion_control"] = "bbr";
  const Json normal = to_json(parse_topology(text, {"t.json", ""}));
  EXPECT_EQ(normal.at("congestion_control"), "bbr");
  EXPECT_EQ(parse_topology(normal, {"t.json", ""}).congestion_control, "bbr");
}

TEST(TopologyFormat, TheLargestPacketIsThatOfEveryLink) {
  Json text = parse_json_file(folder + "three-switch.json");
  EXPECT_FALSE(to_json(parse_topology(text, {"t.json", ""})).contains("mtu"));
  text["mtu"] = 9000;
  const Topology topology = parse_topology(text, {"t.json", ""});
  EXPECT_EQ(to_json(topology).at("mtu"), 9000);
  EXPECT_EQ(to_json(parse_topology(to_json(topology), {"t.json", ""})), to_json(topology));
  Topology changed = parse_topology(parse_json_file(folder + "three-switch.json"), {"t.json", ""});
  set_mtu(changed, 9000, {"e.json", "/mtu"});
  EXPECT_EQ(to_json(changed), to_json(topology));
  for (const Link& link : changed.links) {
    EXPECT_EQ(link.forward.frame.bytes(), 9014);
    EXPECT_EQ(link.backward.frame.payload_bytes(), 8948);
  }
  EXPECT_THROW(set_mtu(changed, 100, {"e.json", "/mtu"}), InputError);
}

TEST(TopologyFormat, SingleHostsMayHaveACongestionControlOfTheirOwn) {
  const Topology topology =
      parse_topology(spoiled([](Json& t) {
                       t["congestion_control"] = {{"default", "reno"}, {"b", "bbr"}, {"c", "reno"}};
                     }),
                     {"t.json", ""});
  EXPECT_THAT(congestion_controls(topology), ElementsAre("reno", "bbr", "reno"));
  const Json normal = to_json(topology);
  EXPECT_EQ(normal.at("congestion_control"), Json({{"default", "reno"}, {"b", "bbr"}}));
  EXPECT_EQ(to_json(parse_topology(normal, {"t.json", ""})), normal);
  EXPECT_EQ(describe_congestion_controls(topology, {"reno", "bbr", "reno"}), "reno, b: bbr");
  EXPECT_EQ(describe_congestion_controls(topology, {"cubic", "cubic", "cubic"}), "cubic");
  Topology same = topology;
  set_congestion_control(same, {{"a", "cubic"}}, {"t.json", ""});
  EXPECT_FALSE(to_json(same).contains("congestion_control")) << "all have the default";
}

TEST(TopologyFormat, GroupsAndRangesNameNodesInOrder) {
  const Topology topology = parse_topology(
      {{"name", "groups"},
       {"switches", {"hub"}},
       {"hosts", {"z", {{"w", 3}}, {{"a", 2}}}},
       {"links", {{{"between", {"w", "hub"}}}, {{"between", {"hub", Json::array({"a0..a1", "z"})}}}}}},
      {"t.json", ""});
  EXPECT_THAT(topology.hosts, ElementsAre("z", "w0", "w1", "w2", "a0", "a1"));
  ASSERT_EQ(topology.links.size(), 6U);
  EXPECT_EQ(topology.links[2].a, "w2");
  EXPECT_EQ(topology.links[4].b, "a1");
  EXPECT_EQ(topology.links[5].b, "z");
}

TEST(TopologyFormat, NumbersInRangesKeepTheirForm) {
  const Topology topology = parse_topology(
      {{"name", "padded"},
       {"switches", {"hub"}},
       {"hosts", {"w08", "w09", "w10", "r2-a0", "r2-a1"}},
       {"links", {{{"between", {"w08..w10", "hub"}}}, {{"between", {"r2-a0..r2-a1", "hub"}}}}}},
      {"t.json", ""});
  ASSERT_EQ(topology.links.size(), 5U);
  EXPECT_EQ(topology.links[0].a, "w08");
  EXPECT_EQ(topology.links[2].a, "w10");
  EXPECT_EQ(topology.links[4].a, "r2-a1");
}

TEST(TopologyFormat, ADirectionMaySayOtherwise) {
  const Topology topology = parse_topology(spoiled([](Json& t) {
                                             t["links"][2]["delay"] = "20 ms";
                                             t["links"][2]["loss"] = 0.01;
                                             t["links"][2]["backward"] = {{"rate", "1 Gbit/s"}, {"loss", 0}};
                                             t["links"][1]["forward"] = {{"rate", "5 Mbit/s"}};
                                           }),
                                           {"t.json", ""});
  const Link& trunk = topology.links.back();
  EXPECT_EQ(trunk.forward.rate_bit_per_s, 100e6);
  EXPECT_EQ(trunk.backward.rate_bit_per_s, 1e9);
  EXPECT_EQ(trunk.backward.impairments.delay_s, 0.02);
  EXPECT_EQ(trunk.forward.impairments.loss, 0.01);
  EXPECT_EQ(trunk.backward.impairments.loss, 0);
  EXPECT_FALSE(topology.links[2].backward.rate_bit_per_s) << "capped in one direction";
  const Json normal = to_json(topology);
  EXPECT_EQ(to_json(parse_topology(normal, {"t.json", ""})), normal);
  EXPECT_EQ(normal["links"][3]["forward"]["delay"], "20 ms");
}

}  // namespace
}  // namespace thinpipe::netem
