// SPDX-License-Identifier: Apache-2.0
// How a configuration changes the links of its topology.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/plan/run_config.hh"
#include "harness/plan/tests/planning.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;

TEST(PlannedNetwork, ABottlenecksBurstIsATimeAtItsCap) {
  const auto burst = [](const char* rate, const char* burst_time) {
    const auto runs =
        plan(fmt::format(R"({{"base": {{"bottleneck": {{"rate": "{}", "burst": {}}}}}}})", rate, burst_time)
                 .c_str());
    return whole_config(runs[0]).at("topology").at("links").back().at("burst").get<std::string>();
  };
  EXPECT_EQ(burst("500 Mbit/s", R"("256 us")"), "15.625 KiB");
  EXPECT_EQ(burst("100 Mbit/s", R"("256 us")"), "4 kB");
  EXPECT_EQ(burst("500 Mbit/s", "null"), "6.25 kB");
}

TEST(PlannedNetwork, ABottlenecksQueueIsATimeAtItsCap) {
  const auto queue = [](const char* rate, const char* time) {
    const auto runs = plan(
        fmt::format(R"({{"base": {{"bottleneck": {{"rate": "{}", "queue": {}}}}}}})", rate, time).c_str());
    return whole_config(runs[0]).at("topology").at("links").back().at("queue").get<std::string>();
  };
  EXPECT_EQ(queue("100 Mbit/s", R"("2 ms")"), "25 kB");
  EXPECT_EQ(queue("10 Mbit/s", R"("2 ms")"), "24.224 kB") << "sixteen full frames";
  EXPECT_EQ(queue("100 Mbit/s", "null"), "125 kB");
}

TEST(PlannedNetwork, ABurstMayNeedTheQueueThatIsSetWithIt) {
  const auto link_with = [](const char* bottleneck) {
    const auto runs = plan(fmt::format(R"({{"base": {{"bottleneck": {}}}}})", bottleneck).c_str());
    return whole_config(runs[0]).at("topology").at("links").back();
  };
  const Json large = link_with(R"({"rate": "100 Mbit/s", "burst": "20 ms", "queue": "40 ms"})");
  EXPECT_EQ(large.at("burst"), "250 kB");
  EXPECT_EQ(large.at("queue"), "500 kB");
  EXPECT_THAT(refusal_of(R"({"base": {"bottleneck": {"rate": "100 Mbit/s", "burst": "20 ms"}}})"),
              HasSubstr("raise \"queue\""));
}

TEST(PlannedNetwork, ABottlenecksDisciplineAndItsMarksCanBeSwept) {
  const auto runs = plan(R"({"base": {"bottleneck": {"rate": "100 Mbit/s"}},
      "sweep": {"bottleneck.queueing": ["red", null], "bottleneck.ecn": [false, null]}})");
  ASSERT_EQ(runs.size(), 2U) << "null and false are the same here";
  const auto link = [&](std::size_t run) {
    return whole_config(runs[run]).at("topology").at("links").back();
  };
  EXPECT_EQ(link(0).at("queueing"), "red");
  EXPECT_EQ(link(1).at("queueing"), "fair") << "the topology's";
  const auto marking =
      plan(R"({"base": {"bottleneck": {"rate": "1 Gbit/s", "queueing": "red", "ecn": true}}})");
  EXPECT_EQ(whole_config(marking[0]).at("topology").at("links").back().at("ecn"), true);
  EXPECT_EQ(whole_config(marking[0]).at("bottleneck"), Json({{"rate", "1 Gbit/s"}}));
  const auto refused = [](const char* members) {
    return refusal_of(
        fmt::format(R"({{"base": {{"bottleneck": {{"rate": "1 Gbit/s", {}}}}}}})", members).c_str());
  };
  EXPECT_THAT(refused(R"("ecn": true)"),
              HasSubstr("e.json at /base/bottleneck/ecn: needs a queue that marks frames, but \"fair\""));
  EXPECT_THAT(refused(R"("queueing": "rde")"), HasSubstr("e.json at /base/bottleneck/queueing: "));
  EXPECT_THAT(
      refusal_of(R"({"base": {"mode": "simulate", "bottleneck": {"rate": "1 Gbit/s", "queueing": "fifo"}}})"),
      HasSubstr("e.json at /base/bottleneck/queueing: has no effect"));
}

TEST(PlannedNetwork, ACongestionControlIsPartOfTheNetwork) {
  const auto planned = [](const Json& base) { return plan(Json{{"base", base}}.dump().c_str()).at(0); };
  const auto reno = planned({{"congestion_control", "reno"}});
  EXPECT_EQ(whole_config(reno).at("topology").at("congestion_control"), "reno");
  EXPECT_NE(reno.id, planned(Json::object()).id);
  EXPECT_EQ(planned({{"congestion_control", "cubic"}}).id, planned(Json::object()).id) << "the default";
  const auto mixed = planned({{"congestion_control", {{"w3", "bbr"}}}});
  EXPECT_EQ(whole_config(mixed).at("topology").at("congestion_control"),
            Json({{"default", "cubic"}, {"w3", "bbr"}}));
  EXPECT_THAT(refusal_of(R"({"base": {"congestion_control": {"w9": "bbr"}}})"),
              HasSubstr("e.json at /base/congestion_control/w9: unknown key"));
  const auto refused = [](const char* mode) {
    return refusal_of(
        fmt::format(R"({{"base": {{"mode": "{}", "congestion_control": "reno"}}}})", mode).c_str());
  };
  EXPECT_THAT(refused("simulate"), HasSubstr("e.json at /base/congestion_control: has no effect"));
  EXPECT_THAT(refused("converge"), HasSubstr("e.json at /base/congestion_control: "));
}

TEST(PlannedNetwork, TheLargestPacketIsPartOfTheNetwork) {
  const auto planned = [](const Json& base) { return plan(Json{{"base", base}}.dump().c_str()).at(0); };
  const auto jumbo = planned({{"mtu", 9000}});
  EXPECT_EQ(whole_config(jumbo).at("topology").at("mtu"), 9000);
  EXPECT_NE(jumbo.id, planned(Json::object()).id);
  EXPECT_EQ(planned({{"mtu", 1500}}).id, planned(Json::object()).id) << "the default";
  EXPECT_THAT(refusal_of(R"({"base": {"mtu": 64}})"),
              HasSubstr("e.json at /base/mtu: must be at least 1280"));
  EXPECT_THAT(refusal_of(R"({"base": {"topology": "loopback", "mtu": 9000}})"),
              HasSubstr("e.json at /base/mtu: works only over an emulated network"));
  EXPECT_THAT(refusal_of(R"({"base": {"mode": "converge", "mtu": 9000}})"),
              HasSubstr("e.json at /base/mtu: does not work"));
}

}  // namespace
}  // namespace thinpipe
