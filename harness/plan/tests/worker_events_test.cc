// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/worker_events.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::HasSubstr;

std::vector<WorkerEvent> read_events(const Json& events) {
  const Place place{"e.json", "/base/worker_events"};
  std::vector<WorkerEventOptions> options;
  read_value(events, place, {}, options);
  return make_worker_events(options, place, 4);
}

TEST(WorkerEvents, AreReadAndWrittenInSecondsAndIterations) {
  const auto events = read_events({{{"at", "1500 ms"}, {"worker", 3}, {"action", "pause"}},
                                   {{"at_iteration", 7}, {"worker", 3}, {"action", "resume"}},
                                   {{"worker", 0}, {"slowdown", 2.5}}});
  ASSERT_EQ(events.size(), 3);
  EXPECT_EQ(to_json(events[0]), Json({{"at_s", 1.5}, {"worker", 3}, {"action", "pause"}}));
  EXPECT_EQ(to_json(events[1]), Json({{"at_iteration", 7}, {"worker", 3}, {"action", "resume"}}));
  EXPECT_EQ(to_json(events[2]), Json({{"at_iteration", 0}, {"worker", 0}, {"slowdown", 2.5}}));
  EXPECT_EQ(events[1].place.pointer, "/base/worker_events/1");
}

TEST(WorkerEvents, AWorkerIsToldItsOwnSlowdownsInTheirOrder) {
  const auto events = read_events({{{"worker", 1}, {"slowdown", 3}, {"at_iteration", 9}},
                                   {{"worker", 2}, {"slowdown", 5}},
                                   {{"at", "1 s"}, {"worker", 1}, {"action", "kill"}},
                                   {{"worker", 1}, {"slowdown", 1}, {"at_iteration", 4}}});
  EXPECT_EQ(slowdowns_of(events, 1),
            (std::vector<Slowdown>{{.at_iteration = 4, .factor = 1}, {.at_iteration = 9, .factor = 3}}));
  EXPECT_TRUE(slowdowns_of(events, 3).empty());
}

struct Wrong {
  const char* name;
  Json event;
  const char* pointer;
  const char* message;
};

class WrongWorkerEvents : public testing::TestWithParam<Wrong> {};

TEST_P(WrongWorkerEvents, AreRefusedAtTheirPlace) {
  try {
    read_events(Json::array({GetParam().event}));
    FAIL() << "was accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.place().pointer, std::string("/base/worker_events/0") + GetParam().pointer);
    EXPECT_THAT(error.message(), HasSubstr(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    WorkerEvents, WrongWorkerEvents,
    testing::Values(
        Wrong{"NoSuchWorker", {{"worker", 4}, {"slowdown", 2}}, "/worker", "must be below 4"},
        Wrong{
            "NothingHappens", {{"worker", 1}, {"at", "1 s"}}, "", "needs either \"action\" or \"slowdown\""},
        Wrong{"BothHappen",
              {{"worker", 1}, {"at", "1 s"}, {"action", "kill"}, {"slowdown", 2}},
              "",
              "write a second event"},
        Wrong{"NoTime", {{"worker", 1}, {"action", "kill"}}, "", "needs either \"at\""},
        Wrong{"TwoTimes",
              {{"worker", 1}, {"action", "kill"}, {"at", "1 s"}, {"at_iteration", 2}},
              "",
              "\"at\""},
        Wrong{"SlowdownByTheClock", {{"worker", 1}, {"at", "1 s"}, {"slowdown", 2}}, "/at", "at_iteration"},
        Wrong{"SpeedUp", {{"worker", 1}, {"slowdown", 0.5}}, "/slowdown", "at least 1"},
        Wrong{"UnknownAction", {{"worker", 1}, {"at", "1 s"}, {"action", "kil"}}, "/action", "kill"},
        Wrong{"UnknownKey", {{"worker", 1}, {"slowdwon", 2}}, "/slowdwon", "slowdown"},
        Wrong{
            "NeverPaused", {{"worker", 1}, {"at", "1 s"}, {"action", "resume"}}, "/action", "never paused"}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace thinpipe
