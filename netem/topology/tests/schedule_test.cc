// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/schedule.hh"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "netem/topology/tests/topologies.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string shipped_trace = source_path("topologies/traces/100-to-1000.csv");

Schedule read(const std::string& text, const Topology& topology = three_switch()) {
  const Place place{"e.json", ""};
  const auto options = read_options<ScheduleOptions>(Json::parse(text), place);
  return make_schedule(options, place, topology,
                       [](const std::string&, const Place&) { return shipped_trace; });
}

std::string refusal(const std::string& text, const Topology& topology = three_switch()) {
  try {
    read(text, topology);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string events_refusal(const std::string& events, const Topology& topology = three_switch()) {
  return refusal(R"({"network_events": [)" + events + "]}", topology);
}

TEST(ScheduleTest, IsEmptyWhereNothingChanges) {
  EXPECT_TRUE(read("{}").empty());
  EXPECT_TRUE(events_to_json(read("{}")).is_null());
  EXPECT_TRUE(trace_to_json(read("{}")).is_null());
  EXPECT_TRUE(read(R"({"network_events": []})").empty());
}

TEST(ScheduleTest, EventsComeInTheOrderOfTheirTimes) {
  const Schedule schedule = read(R"({"network_events": [
      {"at": "20 s", "link": "left-middle", "state": "down"},
      {"at": "500 ms", "link": "bottlenecks", "rate": "50 Mbit/s"},
      {"at": "21 s", "link": "middle-left", "state": "up"},
      {"at": "3 s", "link": "right->middle", "delay": "5 ms", "loss": 0.01}]})");
  ASSERT_EQ(schedule.events.size(), 4U);
  EXPECT_EQ(schedule.events[0].at_s, 0.5);
  EXPECT_EQ(schedule.events[0].place.pointer, "/network_events/1");
  EXPECT_EQ(schedule.events[0].change.rate_bit_per_s, 50e6);
  EXPECT_THAT(schedule.events[0].targets, ElementsAre(DirectedLink{8, true}, DirectedLink{8, false},
                                                      DirectedLink{9, true}, DirectedLink{9, false}));
  EXPECT_THAT(schedule.events[1].targets, ElementsAre(DirectedLink{9, false}));
  EXPECT_EQ(schedule.events[1].change.delay_s, 0.005);
  EXPECT_EQ(schedule.events[1].change.loss, 0.01);
  EXPECT_EQ(schedule.events[2].change.up, false);
  EXPECT_EQ(schedule.events[3].change.up, true);
  EXPECT_THAT(schedule.events[3].targets, ElementsAre(DirectedLink{8, true}, DirectedLink{8, false}));
}

TEST(ScheduleTest, ItsNormalFormReadsBackAsItself) {
  const Schedule schedule = read(R"({
      "network_events": [{"at": "1 min", "link": "left-middle", "state": "down"},
                         {"at": "0.5 s", "link": "left-middle", "delay": "5 ms", "loss": 0.5}],
      "rate_trace": {"link": "middle-right", "file": "x", "period": "48 s", "clock": "wall"}})");
  const Json normal = {{"network_events", events_to_json(schedule)}, {"rate_trace", trace_to_json(schedule)}};
  const Schedule again = read(normal.dump());
  EXPECT_EQ(events_to_json(again), events_to_json(schedule));
  EXPECT_EQ(trace_to_json(again), trace_to_json(schedule));
  EXPECT_EQ(normal["network_events"][0]["at"], "500 ms");
}

TEST(ScheduleTest, MistakesInEventsNamePlaceRuleAndRemedy) {
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left-midle", "rate": "1 Mbit/s"})"),
              AllOf(StartsWith("e.json at /network_events/0/link: unknown link \"left-midle\""),
                    HasSubstr("did you mean \"left-middle\"?")));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left-middle", "delya": "1 s"})"),
              AllOf(StartsWith("e.json at /network_events/0/delya: unknown key"),
                    HasSubstr("did you mean \"delay\"?")));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left-middle"})"),
              StartsWith("e.json at /network_events/0: changes nothing"));
  EXPECT_THAT(events_refusal(R"({"link": "left-middle", "loss": 0.1})"), HasSubstr("\"at\" is missing"));
  EXPECT_THAT(events_refusal(R"({"at": "-1 s", "link": "left-middle", "loss": 0.1})"),
              StartsWith("e.json at /network_events/0/at: must be at least 0 s"));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left-middle", "rate": "1 Mbps"})"),
              HasSubstr("unknown unit \"Mbps\""));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left-middle", "rate": "0 bit/s"})"),
              StartsWith("e.json at /network_events/0/rate: must be at least 100 kbit/s"));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left-middle", "state": "donw"})"),
              HasSubstr("did you mean \"down\"?"));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "w0-left", "rate": "1 Mbit/s"})"),
              HasSubstr("w0-left has no cap"));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left-middle", "state": "down", "loss": 0.1})"),
              StartsWith("e.json at /network_events/0/state: must be alone"));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left->middle", "state": "down"})"),
              HasSubstr("in both directions at once"));
  EXPECT_THAT(refusal(R"({"network_events": {}})"), HasSubstr("must be a list"));
}

TEST(ScheduleTest, EventsThatContradictEachOtherAreRefused) {
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left-middle", "state": "up"})"),
              HasSubstr("is already up at 1 s"));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left-middle", "state": "down"},
                                {"at": "2 s", "link": "bottlenecks", "state": "down"})"),
              AllOf(StartsWith("e.json at /network_events/1/state"), HasSubstr("is already down at 2 s")));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "left-middle", "rate": "1 Mbit/s"},
                                {"at": "1 s", "link": "left->middle", "rate": "2 Mbit/s"})"),
              AllOf(StartsWith("e.json at /network_events/1/at: left->middle is already changed at 1 s"),
                    HasSubstr("by /network_events/0; merge the two")));
  EXPECT_EQ(events_refusal(R"({"at": "1 s", "link": "left-middle", "rate": "1 Mbit/s"},
                              {"at": "1 s", "link": "left-middle", "loss": 0.1})"),
            "accepted");
}

TEST(ScheduleTest, EveryStateMustBeOneThatALinkCanHave) {
  const Json description = Json::parse(R"({"name": "t", "switches": ["s"], "hosts": ["a", "b"], "links": [
      {"between": ["a", "s"], "rate": "10 Mbit/s", "burst": "2 kB", "delay": "4 ms", "jitter": "3 ms"},
      {"between": ["b", "s"]}]})");
  const Topology topology = parse_topology(description, {"t", ""});
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "a-s", "rate": "8 Gbit/s"})", topology),
              AllOf(StartsWith("e.json at /network_events/0: a burst of 2 kB"),
                    HasSubstr("cannot hold a full frame")));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "a-s", "delay": "1 ms"})", topology),
              HasSubstr("must be at most the delay of 1 ms"));
  EXPECT_THAT(refusal(R"({"rate_trace": {"link": "bottlenecks", "file": "x"}})", topology),
              StartsWith("e.json at /rate_trace/link: unknown link \"bottlenecks\""));
}

TEST(ScheduleTest, LinksThatCannotChangeAreNamed) {
  const Json pair = Json::parse(
      R"({"name": "p", "hosts": ["a", "b"], "links": [{"between": ["a", "b"], "rate": "1 Mbit/s"}]})");
  EXPECT_THAT(
      events_refusal(R"({"at": "1 s", "link": "a-b", "state": "down"})", parse_topology(pair, {"p", ""})),
      HasSubstr("put a switch between them"));
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "a-b", "state": "down"})", shipped("loopback")),
              HasSubstr("has no links"));
}

TEST(ScheduleTest, ANameThatMeansTwoLinksIsRefused) {
  const Json description = Json::parse(R"({"name": "t", "switches": ["x", "x-y"], "hosts": ["y-z", "z", "w"],
      "links": [{"between": ["x", "y-z"], "rate": "1 Mbit/s"}, {"between": ["x-y", "z"], "rate": "1 Mbit/s"},
                {"between": ["x", "x-y"]}, {"between": ["w", "x"]}]})");
  const Topology topology = parse_topology(description, {"t", ""});
  EXPECT_THAT(events_refusal(R"({"at": "1 s", "link": "x-y-z", "loss": 0.1})", topology),
              HasSubstr("names more than one link"));
  EXPECT_EQ(events_refusal(R"({"at": "1 s", "link": "x-y->z", "loss": 0.1})", topology), "accepted");
}

TEST(ScheduleTest, ATraceIsReadForTheLinksThatItNames) {
  const Schedule schedule =
      read(R"({"rate_trace": {"link": "bottlenecks", "file": "any", "period": "48 s"}})");
  ASSERT_TRUE(schedule.trace);
  EXPECT_EQ(schedule.trace->targets.size(), 4U);
  EXPECT_EQ(schedule.trace->trace.steps.size(), 24U);
  EXPECT_EQ(schedule.trace->trace.period_s, 48);
  EXPECT_TRUE(schedule.follows_train_time()) << "unless it is told otherwise";
  EXPECT_EQ(trace_to_json(schedule)["clock"], "train");
  const Schedule by_wall = read(R"({"rate_trace": {"link": "bottlenecks", "file": "any", "clock": "wall"}})");
  EXPECT_FALSE(by_wall.follows_train_time());
  EXPECT_FALSE(Schedule{}.follows_train_time());
}

TEST(ScheduleTest, MistakesInATraceNamePlaceRuleAndRemedy) {
  EXPECT_THAT(refusal(R"({"rate_trace": {"link": "bottlenecks", "file": "any", "period": "46 s"}})"),
              AllOf(StartsWith("e.json at /rate_trace/period: must be above 46 s"),
                    HasSubstr("that step would not count")));
  EXPECT_THAT(refusal(R"({"rate_trace": {"link": "bottlenecks"}})"), HasSubstr("\"file\" is missing"));
  EXPECT_THAT(refusal(R"({"rate_trace": {"link": "bottlenecks", "file": "any", "clock": "trian"}})"),
              AllOf(StartsWith("e.json at /rate_trace/clock: "), HasSubstr("did you mean \"train\"?")));
  EXPECT_THAT(refusal(R"({"rate_trace": {"link": "left-middle", "file": "any"},
                          "network_events": [{"at": "1 s", "link": "bottlenecks", "rate": "1 Mbit/s"}]})"),
              AllOf(StartsWith("e.json at /network_events/0/rate: the rate of left->middle follows")));
  EXPECT_EQ(refusal(R"({"rate_trace": {"link": "left-middle", "file": "any"},
                        "network_events": [{"at": "1 s", "link": "bottlenecks", "delay": "1 ms"},
                                           {"at": "1 s", "link": "middle-right", "rate": "1 Mbit/s"}]})"),
            "accepted");
}

TEST(ScheduleTest, VisitsWhatLinksWillBe) {
  const Topology topology = three_switch();
  const Schedule schedule = read(R"({
      "rate_trace": {"link": "left->middle", "file": "any"},
      "network_events": [{"at": "1 s", "link": "middle->right", "rate": "7 Mbit/s"},
                         {"at": "2 s", "link": "middle->right", "loss": 0.25}]})");
  std::set<double> traced;
  std::vector<Direction> changed;
  visit_states(topology, schedule,
               [&](const DirectedLink& directed_link, const Direction& direction, const Place&) {
                 if (directed_link == DirectedLink{8, true}) traced.insert(*direction.rate_bit_per_s);
                 if (directed_link == DirectedLink{9, true}) changed.push_back(direction);
               });
  EXPECT_EQ(*traced.begin(), 100e6);
  EXPECT_EQ(*traced.rbegin(), 1e9);
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[1].rate_bit_per_s, 7e6);
  EXPECT_EQ(changed[1].impairments.loss, 0.25);
}

}  // namespace
}  // namespace thinpipe::netem
