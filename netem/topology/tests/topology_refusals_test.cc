// SPDX-License-Identifier: Apache-2.0
// Invalid topologies, and their error messages.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/json_schema.hh"
#include "netem/topology/tests/small_topology.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

using testing::HasSubstr;

// Whether the mistake shows in one value, so that the published schema must refuse it too, or only in the
// relation between several.
enum class Mistake { in_form, in_relation };

void expect_refusal(const Json& value, const std::string& pointer, const std::string& part_of_message,
                    Mistake mistake = Mistake::in_relation) {
  const std::vector<std::string> schema_says = published_schema("topology").violations(value);
  if (mistake == Mistake::in_form) {
    EXPECT_FALSE(schema_says.empty()) << "the schema accepts " << value;
  } else {
    EXPECT_THAT(schema_says, testing::IsEmpty()) << "the schema refuses " << value;
  }
  try {
    parse_topology(value, {"t.json", ""});
    ADD_FAILURE() << "accepted " << value;
  } catch (const InputError& error) {
    EXPECT_EQ(error.place().pointer, pointer) << error.what();
    EXPECT_THAT(error.message(), HasSubstr(part_of_message));
  }
}

void expect_refusal_of_form(const Json& value, const std::string& pointer,
                            const std::string& part_of_message) {
  expect_refusal(value, pointer, part_of_message, Mistake::in_form);
}

TEST(TopologyRefusals, OfCongestionControls) {
  for (const char* const name : {"", "Cubic", "../../bbr", "a_name_of_16_byt"}) {
    expect_refusal_of_form(spoiled([&](Json& t) { t["congestion_control"] = name; }), "/congestion_control",
                           "such as cubic, reno or bbr");
  }
  expect_refusal_of_form(spoiled([](Json& t) {
                           t["congestion_control"] = {{"a", "Cubic"}};
                         }),
                         "/congestion_control/a", "such as cubic, reno or bbr");
  expect_refusal(spoiled([](Json& t) {
                   t["congestion_control"] = {{"d", "cubic"}};
                 }),
                 "/congestion_control/d", "\"d\"");
  expect_refusal(
      {{"name", "here"}, {"kind", "loopback"}, {"hosts", {"a", "b"}}, {"congestion_control", "bbr"}},
      "/congestion_control", "works only over an emulated network");
}

TEST(TopologyRefusals, OfPacketsThatNoSwitchForwards) {
  for (const Json& bytes : {Json(1279), Json(9217), Json("9000"), Json(1500.5)}) {
    expect_refusal_of_form(spoiled([&](Json& t) { t["mtu"] = bytes; }), "/mtu", "must be");
  }
  expect_refusal({{"name", "here"}, {"kind", "loopback"}, {"hosts", {"a", "b"}}, {"mtu", 9000}}, "/mtu",
                 "has no links");
  expect_refusal(spoiled([](Json& t) {
                   t["mtu"] = 9000;
                   t["links"][2]["burst"] = "9 kB";
                 }),
                 "/links/2", "cannot hold a full frame of 9014 bytes");
}

TEST(TopologyRefusals, OfMarksByQueuesThatCannotMark) {
  for (const char* const queueing : {"fifo", "fair"}) {
    expect_refusal(spoiled([&](Json& t) {
                     t["links"][2]["queueing"] = queueing;
                     t["links"][2]["ecn"] = true;
                   }),
                   "/links/2/ecn", "set \"queueing\" to \"codel\", \"fq_codel\" or \"red\"");
  }
  expect_refusal(spoiled([](Json& t) { t["links"][1]["ecn"] = true; }), "/links/1/ecn",
                 "needs a \"rate\" beside it");
  expect_refusal_of_form(spoiled([](Json& t) { t["links"][2]["ecn"] = "yes"; }), "/links/2/ecn", "");
}

TEST(TopologyRefusals, OfGroupsAndRanges) {
  const auto with_hosts = [](const Json& hosts) { return spoiled([&](Json& t) { t["hosts"] = hosts; }); };
  expect_refusal_of_form(with_hosts({{"a", 1}, {"b", 1}}), "/hosts", "write a list of groups");
  expect_refusal_of_form(with_hosts(3), "/hosts", "a list of names, or a group");
  expect_refusal_of_form(with_hosts({{"w", 0}}), "/hosts/w", "at least 1");
  expect_refusal_of_form(with_hosts({{"w", 2.5}}), "/hosts/w", "a whole number");
  expect_refusal_of_form(with_hosts({{"w", 65535}}), "/hosts/w", "at most 65534");
  expect_refusal_of_form(with_hosts({{"0w", 2}}), "/hosts/0w", "not a valid device name");
  expect_refusal(with_hosts({{"ninechars", 11}}), "/hosts/ninechars", "\"ninechars10\" is not a valid");
  expect_refusal(with_hosts({"w1", {{"w", 2}}}), "/hosts/1/w", "\"w1\" is named twice");
  expect_refusal(with_hosts({"a", "b", "c", {{"left", 2}}}), "", "the group \"left\" has the name");
  const auto with_end = [](const char* end) {
    return spoiled([&](Json& t) { t["links"][1]["between"][0] = end; });
  };
  expect_refusal(with_end("c0..d4"), "/links/1/between/0", "must differ only in their numbers");
  expect_refusal(with_end("c4..c0"), "/links/1/between/0", "the smaller first");
  expect_refusal_of_form(with_end("c..c4"), "/links/1/between/0", "is not a range");
  expect_refusal_of_form(with_end("c0..c4x"), "/links/1/between/0", "is not a range");
  expect_refusal(with_end("c0..c99999999"), "/links/1/between/0", "is not a range");
  expect_refusal(with_end("c8..c010"), "/links/1/between/0", "with leading zeros");
  expect_refusal(with_end("c0..c4"), "/links/1/between/0", "no switch or host is named \"c0\"");
}

TEST(TopologyRefusals, OfImpairments) {
  const auto with = [](const char* key, const Json& value) {
    return spoiled([&](Json& t) { t["links"][2][key] = value; });
  };
  expect_refusal_of_form(with("delay", "-1 ms"), "/links/2/delay", "at least 0 s");
  expect_refusal_of_form(with("delay", "20 mbit"), "/links/2/delay", "unknown unit");
  expect_refusal_of_form(with("jitter", 5), "/links/2/jitter", "with a unit");
  expect_refusal(with("delay", "11 s"), "/links/2/delay", "at most 10 s");
  expect_refusal(with("jitter", "1 ms"), "/links/2/jitter", "at most the delay of 0 s");
  expect_refusal(with("reordering", 0.1), "/links/2/reordering", "needs a \"delay\"");
  for (const char* const key : {"loss", "duplication", "reordering"}) {
    for (const Json& share : {Json(-0.1), Json(1), Json("1 %")}) {
      expect_refusal_of_form(with(key, share), std::string("/links/2/") + key, "must be");
    }
  }
  for (const auto& [key, value] : {std::pair<std::string, Json>{"delay", "1 ms"},
                                   {"jitter", "1 ms"},
                                   {"loss", 0.1},
                                   {"duplication", 0.1},
                                   {"reordering", 0.1}}) {
    expect_refusal(spoiled([&](Json& t) { t["links"][1][key] = value; }), "/links/1/" + key,
                   "needs a \"rate\" beside it");
  }
  expect_refusal_of_form(with("forward", 3), "/links/2/forward", "must be an object");
  expect_refusal(with("backward", {{"burst", "1000 bytes"}}), "/links/2/backward",
                 "cannot hold a full frame");
}

TEST(TopologyRefusals, LoopsAreForRoutersAlone) {
  const Json ring = {{"name", "ring"},
                     {"switches", {{"s", 4}}},
                     {"hosts", {{"w", 4}}},
                     {"links",
                      {{{"between", {"w0", "s0"}}},
                       {{"between", {"w1", "s1"}}},
                       {{"between", {"w2", "s2"}}},
                       {{"between", {"w3", "s3"}}},
                       {{"between", {"s0", "s1"}}},
                       {{"between", {"s1", "s2"}}},
                       {{"between", {"s2", "s3"}}},
                       {{"between", {"s3", "s0"}}}}}};
  expect_refusal(ring, "/links/7/between/1", "closes the loop s3 - s2 - s1 - s0 - s3");
  Json routed = ring;
  routed["forwarding"] = "routed";
  const Topology topology = parse_topology(routed, {"t.json", ""});
  EXPECT_EQ(topology.forwarding, Forwarding::routed);
  EXPECT_EQ(to_json(topology)["forwarding"], "routed");
  routed["forwarding"] = "route";
  expect_refusal_of_form(routed, "/forwarding", "did you mean \"routed\"");
  expect_refusal({{"name", "l"}, {"kind", "loopback"}, {"hosts", {"a"}}, {"forwarding", "routed"}},
                 "/forwarding", "nothing to forward");
}

TEST(TopologyRefusals, OfUnknownKeysAndKinds) {
  expect_refusal_of_form(spoiled([](Json& t) { t["swiches"] = 1; }), "/swiches", "did you mean \"switches\"");
  expect_refusal_of_form(spoiled([](Json& t) { t["links"][2]["rates"] = 1; }), "/links/2/rates",
                         "did you mean \"rate\"");
  expect_refusal_of_form(spoiled([](Json& t) { t["kind"] = "lopback"; }), "/kind",
                         "did you mean \"loopback\"");
  expect_refusal_of_form(spoiled([](Json& t) { t.erase("hosts"); }), "", "\"hosts\" is missing");
  expect_refusal_of_form(spoiled([](Json& t) { t["links"] = 3; }), "/links", "must be a list");
}

TEST(TopologyRefusals, OfNames) {
  expect_refusal(spoiled([](Json& t) { t["hosts"][2] = "a"; }), "/hosts/2", "named twice");
  expect_refusal(spoiled([](Json& t) { t["hosts"][2] = "left"; }), "/hosts/2", "named twice");
  for (const char* const name : {"", "elevenchars", "a.b", "a/b", "a b", "0a", "-a"}) {
    expect_refusal_of_form(spoiled([&](Json& t) { t["hosts"][2] = name; }), "/hosts/2",
                           "not a valid device name");
  }
  expect_refusal_of_form(spoiled([](Json& t) { t["switches"][0] = "much-too-long"; }), "/switches/0",
                         "1 to 10 letters");
}

// Hosts are looked up without regard to case, and localhost means every host.
TEST(TopologyRefusals, OfNamesThatMeanSomethingElse) {
  expect_refusal(spoiled([](Json& t) { t["hosts"][2] = "A"; }), "/hosts/2",
                 "\"a\" and \"A\" differ only in case");
  expect_refusal(spoiled([](Json& t) { t["hosts"][2] = "LocalHost"; }), "/hosts/2",
                 "every host's name for itself");
  for (const char* const name : {"lo", "all", "default", "sit0"}) {
    expect_refusal(spoiled([&](Json& t) { t["switches"][1] = name; }), "/switches/1", "that the kernel uses");
  }
}

TEST(TopologyRefusals, OfLinkEnds) {
  expect_refusal_of_form(spoiled([](Json& t) { t["links"][1]["between"] = "c"; }), "/links/1/between",
                         "a list of two ends");
  expect_refusal_of_form(spoiled([](Json& t) { t["links"][1]["between"] = Json::array({"c"}); }),
                         "/links/1/between", "a list of two ends");
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

TEST(TopologyRefusals, OfGraphs) {
  expect_refusal(spoiled([](Json& t) { t["links"].erase(1); }), "/hosts/2", "c has no link");
  expect_refusal(spoiled([](Json& t) { t["links"].erase(2); }), "/switches/1", "right cannot reach left");
  expect_refusal(spoiled([](Json& t) { t["hosts"].push_back("d"); }), "/hosts/3", "d has no link");
  expect_refusal(spoiled([](Json& t) {
                   t["links"].push_back({{"between", {"a", "right"}}});
                 }),
                 "/links/3/between/0", "the host a already has a link");
  expect_refusal(spoiled([](Json& t) {
                   t["links"].push_back({{"between", {"right", "left"}}});
                 }),
                 "/links/3/between/1", "closes the loop right - left - right");
  expect_refusal(spoiled([](Json& t) {
                   t["forwarding"] = "routed";
                   t["links"].push_back({{"between", {"right", "left"}}});
                 }),
                 "/links/3/between/1", "there is already a link between right and left");
  expect_refusal(spoiled([](Json& t) {
                   t["links"].push_back({{"between", {"left", "left"}}});
                 }),
                 "/links/3/between/1", "from left to itself");
  expect_refusal({{"name", "lone"}, {"hosts", {"a"}}}, "/links", "use kind \"loopback\"");
  expect_refusal_of_form({{"name", "none"}, {"hosts", Json::array()}}, "/hosts", "names no host");
  expect_refusal({{"name", "l"}, {"kind", "loopback"}, {"hosts", {"a"}}, {"switches", {"s"}}}, "/switches",
                 "has no switches");
  expect_refusal(
      {{"name", "l"}, {"kind", "loopback"}, {"hosts", {"a", "b"}}, {"links", {{{"between", {"a", "b"}}}}}},
      "/links", "has no links");
  expect_refusal(
      {{"name", "c"}, {"kind", "cluster"}, {"hosts", {"a", "b"}}, {"links", {{{"between", {"a", "b"}}}}}},
      "/links", "a cluster topology has no links");
  expect_refusal({{"name", "l"}, {"kind", "loopback"}, {"hosts", {"a"}}, {"network_interface", "eth0"}},
                 "/network_interface", "only in a topology of kind \"cluster\"");
  expect_refusal({{"name", "l"}, {"kind", "loopback"}, {"hosts", {"a"}}, {"rendezvous", "tcp"}},
                 "/rendezvous", "only in a topology of kind \"cluster\"");
  expect_refusal_of_form({{"name", "c"}, {"kind", "cluster"}, {"hosts", {"a"}}, {"rendezvous", "udp"}},
                         "/rendezvous", "known: tcp, folder");
}

TEST(TopologyRefusals, OfMoreHostsThanTheSubnetHolds) {
  Json hosts = Json::array();
  for (std::size_t i = 0; i <= max_hosts; ++i) hosts.push_back(fmt::format("w{}", i));
  expect_refusal_of_form({{"name", "big"}, {"kind", "loopback"}, {"hosts", hosts}}, "/hosts", "holds 65534");
}

TEST(TopologyRefusals, OfMoreLinksThanASwitchHasPorts) {
  Json hosts = Json::array();
  for (std::size_t i = 0; i <= max_links_of_a_switch; ++i) hosts.push_back(fmt::format("w{}", i));
  expect_refusal(
      {{"name", "star"}, {"switches", {"s"}}, {"hosts", hosts}, {"links", {{{"between", {hosts, "s"}}}}}},
      "/links/0/between/1", "already has 1023 links");
}

TEST(TopologyRefusals, OfCaps) {
  // The kernel stores the burst as a time.
  expect_refusal(spoiled([](Json& t) {
                   t["links"][2]["rate"] = "100 kbit/s";
                   t["links"][2]["burst"] = "4 MB";
                   t["links"][2]["queue"] = "8 MB";
                 }),
                 "/links/2",
                 "a burst of 4 MB takes 320 s at 100 kbit/s, but the kernel counts at most 274 s");
  for (const char* const rate : {"0 Mbit/s", "-5 Mbit/s"}) {
    expect_refusal_of_form(spoiled([&](Json& t) { t["links"][2]["rate"] = rate; }), "/links/2/rate",
                           "at least 100 kbit/s");
  }
  for (const char* const rate : {"99 kbit/s", "17 Gbit/s"}) {
    expect_refusal(spoiled([&](Json& t) { t["links"][2]["rate"] = rate; }), "/links/2/rate",
                   "at least 100 kbit/s");
  }
  expect_refusal_of_form(spoiled([](Json& t) { t["links"][2]["rate"] = "100 MB"; }), "/links/2/rate",
                         "unknown unit");
  expect_refusal_of_form(spoiled([](Json& t) { t["links"][2]["rate"] = 100; }), "/links/2/rate",
                         "with a unit");
  expect_refusal(spoiled([](Json& t) { t["links"][2]["burst"] = "1514 bytes"; }), "/links/2",
                 "cannot hold a full frame of 1514 bytes");
  expect_refusal(spoiled([](Json& t) { t["links"][2]["queue"] = "3 kB"; }), "/links/2",
                 "cannot hold a burst of 4 kB");
  for (const char* const key : {"burst", "queue"}) {
    expect_refusal(spoiled([&](Json& t) { t["links"][1][key] = "9 kB"; }), std::string("/links/1/") + key,
                   "needs a \"rate\" beside it");
  }
  expect_refusal(spoiled([](Json& t) { t["links"][1]["queueing"] = "fair"; }), "/links/1/queueing",
                 "needs a \"rate\" beside it");
  expect_refusal_of_form(spoiled([](Json& t) { t["links"][2]["queueing"] = "fare"; }), "/links/2/queueing",
                         "fair");
  expect_refusal(spoiled([](Json& t) { t["links"][1]["bottleneck"] = true; }), "/links/1/bottleneck",
                 "needs a \"rate\" beside it");
}

}  // namespace
}  // namespace thinpipe::netem
