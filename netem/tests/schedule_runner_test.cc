// SPDX-License-Identifier: Apache-2.0
#include "netem/schedule_runner.hh"

#include <chrono>

#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "netem/topology/tests/topologies.hh"

namespace thinpipe::netem {
namespace {

Schedule schedule_of(const Json& config, const Topology& topology) {
  const Place place{"test", ""};
  const auto options = read_options<ScheduleOptions>(config, place);
  return make_schedule(options, place, topology, [](const std::string&, const Place&) {
    return source_path("topologies/traces/100-to-1000.csv");
  });
}

Json events(const std::string& text) {
  return {{"network_events", Json::parse(text)}};
}

Json trace(const std::string& text) {
  return {{"rate_trace", Json::parse(text)}};
}

// A trace of one link, and an event of another.
Schedule trace_with_event_at(const std::string& time, const Topology& topology) {
  Json config = trace(R"({"link": "left-middle", "file": "any"})");
  config.update(events(R"([{"at": ")" + time + R"(", "link": "middle-right", "rate": "20 Mbit/s"}])"));
  return schedule_of(config, topology);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST(ScheduleRunnerTest, EventsHappenWhenTheyAreDueAndAreConfirmedThen) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule = schedule_of(events(R"([
      {"at": "0 s", "link": "left->middle", "rate": "30 Mbit/s"},
      {"at": "10 s", "link": "bottlenecks", "rate": "40 Mbit/s"},
      {"at": "11 s", "link": "middle-right", "state": "down"},
      {"at": "12 s", "link": "middle-right", "state": "up"},
      {"at": "100 s", "link": "left-middle", "rate": "50 Mbit/s"}])"),
                                        topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  EXPECT_FALSE(schedule_runner.is_due(now_s() + 1e6)) << "training has not begun";
  const double began = now_s();
  schedule_runner.begin(began);
  EXPECT_EQ(schedule_runner.apply_due(began), 1U);
  EXPECT_EQ(schedule_runner.apply_due(began), 0U);
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 30e6);
  EXPECT_EQ(network.shaping()[1].read_back.rate_bit_per_s, 100e6);
  EXPECT_FALSE(schedule_runner.is_due(began + 9.99));
  EXPECT_EQ(schedule_runner.apply_due(began + 11.5), 2U);
  for (const ShapedDirection& direction : network.shaping())
    EXPECT_EQ(direction.read_back.rate_bit_per_s, 40e6);
  EXPECT_TRUE(network.shaping()[0].up);
  EXPECT_FALSE(network.shaping()[2].up);
  EXPECT_FALSE(network.shaping()[3].up);
  EXPECT_EQ(schedule_runner.apply_due(began + 12), 1U);
  EXPECT_TRUE(network.shaping()[2].up);

  const std::vector<NetworkChange>& changes = schedule_runner.changes();
  ASSERT_EQ(changes.size(), 4U);
  EXPECT_EQ(changes[1].at_s, 10);
  EXPECT_EQ(changes[1].held.size(), 4U);
  double before_s = 0;
  for (const NetworkChange& change : changes) {
    ASSERT_TRUE(change.confirmed_s);
    EXPECT_GT(*change.confirmed_s, before_s);
    before_s = *change.confirmed_s;
  }
  const Json first = to_json(changes[0]);
  EXPECT_EQ(first["requested"], Json({{"rate_bit_per_s", 30e6}}));
  EXPECT_EQ(first["applied"]["left->middle"]["rate_bit_per_s"], 30e6);
  EXPECT_EQ(first["source"], "event");
  EXPECT_EQ(to_json(changes[2])["applied"],
            Json({{"middle->right", {{"state", "down"}}}, {"right->middle", {{"state", "down"}}}}));
  ASSERT_EQ(schedule_runner.missed().size(), 1U);
  EXPECT_EQ(schedule_runner.missed()[0].at_s, 100);
  EXPECT_EQ(schedule_runner.missed()[0].place.pointer, "/network_events/4");
  EXPECT_TRUE(to_json(schedule_runner.missed()[0])["confirmed_s"].is_null());
}

TEST(ScheduleRunnerTest, ATraceIsReplayedAgainAndAgain) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule = schedule_of(
      trace(R"({"link": "left-middle", "file": "any", "period": "48 s", "clock": "wall"})"), topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.begin(began);
  EXPECT_EQ(schedule_runner.apply_due(began + 1.9), 1U);
  EXPECT_EQ(schedule_runner.apply_due(began + 47.9), 23U);
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 150e6);
  EXPECT_EQ(schedule_runner.apply_due(began + 50.5), 2U) << "the second cycle";
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 250e6);
  EXPECT_EQ(network.shaping()[2].read_back.rate_bit_per_s, 100e6) << "the other link stays as it was";
  EXPECT_EQ(schedule_runner.changes().back().at_s, 50);
  EXPECT_TRUE(schedule_runner.changes().back().traced);
  EXPECT_TRUE(schedule_runner.missed().empty()) << "the steps of a trace are never missed";
}

// The step of the trace follows train time, the event the clock.
TEST(ScheduleRunnerTest, ATraceByTrainTimeStandsStillWhileNoIterationRuns) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule = trace_with_event_at("3 s", topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.train_clock().run(0, began - 100);
  EXPECT_FALSE(schedule_runner.is_due(began)) << "training has not begun";
  schedule_runner.train_clock().stop(0);
  schedule_runner.begin(began);
  EXPECT_EQ(schedule_runner.apply_due(began + 2.5), 1U) << "its first step";
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 100e6);
  schedule_runner.train_clock().run(0, began + 2.5);
  EXPECT_EQ(schedule_runner.apply_due(began + 4.25), 1U) << "the event";
  EXPECT_EQ(network.shaping()[2].read_back.rate_bit_per_s, 20e6);
  schedule_runner.train_clock().stop(1.875);
  EXPECT_FALSE(schedule_runner.is_due(began + 1000)) << "during an evaluation";
  schedule_runner.train_clock().run(1.875, began + 1000);
  EXPECT_EQ(schedule_runner.apply_due(began + 1000.25), 1U);
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 250e6);

  const std::vector<NetworkChange>& changes = schedule_runner.changes();
  ASSERT_EQ(changes.size(), 3U);
  const Json event = to_json(changes[1]);
  EXPECT_EQ(event["clock"], "wall");
  EXPECT_EQ(event["at_s"], 3);
  const Json step = to_json(changes[2]);
  EXPECT_EQ(step["clock"], "train");
  EXPECT_EQ(step["at_s"], 2);
  EXPECT_EQ(step["source"], "trace");
  EXPECT_TRUE(step["confirmed_train_time_s"].is_number());
}

TEST(ScheduleRunnerTest, TrainTimeThatIsSetBackTakesTheTraceWithIt) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule =
      schedule_of(trace(R"({"link": "left-middle", "file": "any", "period": "48 s"})"), topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.begin(began);
  const auto rate = [&] { return network.shaping()[0].read_back.rate_bit_per_s; };
  schedule_runner.set_back(0);
  EXPECT_EQ(schedule_runner.apply_due(began), 1U) << "nothing was applied before";
  schedule_runner.set_back(0);
  EXPECT_FALSE(schedule_runner.is_due(began)) << "nothing else is due yet";
  schedule_runner.train_clock().run(46.5, began);
  EXPECT_EQ(schedule_runner.apply_due(began + 4), 25U);
  EXPECT_EQ(schedule_runner.changes().back().at_s, 50) << "in the second cycle";
  EXPECT_EQ(rate(), 250e6);
  schedule_runner.set_back(50);
  EXPECT_FALSE(schedule_runner.is_due(began + 1000));
  schedule_runner.set_back(46.5);
  EXPECT_EQ(schedule_runner.apply_due(began + 1000), 1U);
  EXPECT_EQ(schedule_runner.changes().back().at_s, 46);
  EXPECT_EQ(rate(), 150e6);
  schedule_runner.train_clock().run(46.5, began + 1000);
  EXPECT_FALSE(schedule_runner.is_due(began + 1001.4));
  EXPECT_EQ(schedule_runner.apply_due(began + 1001.6), 1U);
  EXPECT_EQ(rate(), 100e6);
}

TEST(ScheduleRunnerTest, AveragesTheCapOfATraceByTrainTimeOverTrainTime) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule = schedule_of(trace(R"({"link": "left-middle", "file": "any"})"), topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.begin(began);
  schedule_runner.apply_due(began);
  schedule_runner.train_clock().stop(2);
  schedule_runner.apply_due(began);
  schedule_runner.train_clock().stop(3);
  // Two seconds of 100 Mbit/s and one of 250, however long the evaluations took.
  EXPECT_NEAR(schedule_runner.mean_rate_bit_per_s(0, began, began + 1000), 150e6, 1);
  EXPECT_EQ(schedule_runner.mean_rate_bit_per_s(2, began, began + 1000), 100e6)
      << "it does not follow the trace";
}

TEST(ScheduleRunnerTest, TrainTimeThatWasSetBackCountsOnceInTheMeanCap) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule = trace_with_event_at("1 s", topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.begin(began);
  schedule_runner.apply_due(began);
  schedule_runner.train_clock().stop(2);
  EXPECT_EQ(schedule_runner.apply_due(began + 1), 2U) << "the second step and the event";
  schedule_runner.set_back(1);
  EXPECT_EQ(schedule_runner.apply_due(began + 1), 1U) << "the first step again";
  schedule_runner.train_clock().stop(2);
  EXPECT_EQ(schedule_runner.apply_due(began + 1), 1U);
  schedule_runner.train_clock().stop(3);
  // Two seconds of 100 Mbit/s and one of 250.
  EXPECT_NEAR(schedule_runner.mean_rate_bit_per_s(0, began, began + 1000), 150e6, 1);
  // One second of 100 Mbit/s; the event is not undone, so 20 from the time set back to.
  EXPECT_NEAR(schedule_runner.mean_rate_bit_per_s(2, began, began + 1000), 140e6 / 3, 1);
}

TEST(ScheduleRunnerTest, AveragesTheCap) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule = schedule_of(events(R"([{"at": "0 s", "link": "left->middle", "rate": "20 Mbit/s"},
                                                   {"at": "0 s", "link": "middle-right", "state": "down"}])"),
                                        topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.begin(began);
  schedule_runner.apply_due(began);
  // Half of the time, before the change, at 100 Mbit/s; the other half at 20.
  const double changed = began + *schedule_runner.changes().front().confirmed_s;
  EXPECT_NEAR(schedule_runner.mean_rate_bit_per_s(0, changed - 100, changed + 100), 60e6, 0.1e6);
  EXPECT_NEAR(schedule_runner.mean_rate_bit_per_s(0, changed + 1, changed + 3), 20e6, 1);
  EXPECT_EQ(schedule_runner.mean_rate_bit_per_s(1, changed - 100, changed + 100), 100e6);
  EXPECT_NEAR(schedule_runner.mean_rate_bit_per_s(2, changed - 100, changed + 100), 50e6, 0.1e6);
}

}  // namespace
}  // namespace thinpipe::netem
