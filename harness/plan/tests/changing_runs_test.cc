// SPDX-License-Identifier: Apache-2.0
// Plans of runs whose network changes: events, and rate traces.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "harness/plan/run_id.hh"
#include "harness/plan/tests/planning.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class ChangingRuns : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_.path() / name;
    std::ofstream(path) << text;
    return path;
  }

  // The run of an experiment file in its own folder, in which traces are searched.
  thinpipe::Run run(const std::string& base) const {
    const std::string file = (folder_.path() / "e.json").string();
    return plan_runs(parse_experiment(R"({"base": )" + base + "}", file, {}), trainer()).at(0);
  }

  std::string refusal(const std::string& base) const {
    try {
      run(base);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_;
};

TEST_F(ChangingRuns, WhatChangesIsPartOfTheIdentityAndNothingElseIs) {
  const std::string plain = run("{}").id;
  EXPECT_EQ(run(R"({"network_events": []})").id, plain);
  EXPECT_FALSE(whole_config(run("{}")).contains("network_events"));
  EXPECT_FALSE(whole_config(run("{}")).contains("rate_trace"));
  const std::string event =
      run(R"({"network_events": [{"at": "1 s", "link": "left-middle", "rate": "50 Mbit/s"}]})").id;
  EXPECT_NE(event, plain);
  EXPECT_EQ(
      event,
      run(R"({"network_events": [{"at": "1000 ms", "link": "left-middle", "rate": "0.05 Gbit/s"}]})").id);
  EXPECT_NE(event,
            run(R"({"network_events": [{"at": "2 s", "link": "left-middle", "rate": "50 Mbit/s"}]})").id);

  write("a.csv", "time_s,rate_mbit_per_s\n0,100\n1,200\n");
  write("same.csv", "# a comment\ntime_s,rate_bit_per_s\n0,1e8\n1,2e8\n");
  write("other.csv", "time_s,rate_mbit_per_s\n0,100\n1,201\n");
  const auto traced = [&](const std::string& file, const std::string& more = "") {
    return run(R"({"rate_trace": {"link": "bottlenecks", "file": ")" + file + "\"" + more + "}}").id;
  };
  EXPECT_NE(traced("a.csv"), plain);
  EXPECT_EQ(traced("a.csv"), traced("same.csv")) << "the steps count, not the file";
  EXPECT_NE(traced("a.csv"), traced("other.csv"));
  EXPECT_NE(traced("a.csv"), traced("a.csv", R"(, "period": "2 s")"));
  EXPECT_NE(traced("a.csv"), traced("a.csv", R"(, "clock": "wall")"));
  EXPECT_EQ(traced("a.csv"), traced("a.csv", R"(, "clock": "train")"));
  EXPECT_NE(traced("100-to-1000"), plain) << "a shipped one";
  write("cell.down", "1\n5\n150\n");
  EXPECT_NE(traced("cell.down"), plain) << "mahimahi's format";
}

// Records from before this option have ids of configurations without it.
TEST_F(ChangingRuns, ATraceByTheClockGoesByTheNameThatItHadWhenThereWasNoOther) {
  const Json by_clock =
      whole_config(run(R"({"rate_trace": {"link": "bottlenecks", "file": "100-to-1000", "clock": "wall"}})"));
  EXPECT_EQ(by_clock.at("rate_trace").at("clock"), "wall");
  Json older = by_clock;
  older["rate_trace"].erase("clock");
  EXPECT_EQ(run_id(by_clock), run_id(older));
  Json by_train_time = by_clock;
  by_train_time["rate_trace"]["clock"] = "train";
  EXPECT_NE(run_id(by_train_time), run_id(older));
}

TEST_F(ChangingRuns, MistakesAreFoundWhereTheUserWroteThem) {
  const std::string file = (folder_.path() / "e.json").string();
  EXPECT_THAT(refusal(R"({"rate_trace": {"link": "bottlenecks", "file": "100-to-100"}})"),
              AllOf(StartsWith(file + " at /base/rate_trace/file: unknown rate trace \"100-to-100\""),
                    HasSubstr("did you mean \"100-to-1000\"?")));
  EXPECT_THAT(refusal(R"({"rate_trace": {"link": "bottlenecks", "file": "mine.csv"}})"),
              HasSubstr("mine.csv does not exist"));
  const std::string broken = write("broken.csv", "time_s,rate_mbit_per_s\n0,100\n0,200\n");
  EXPECT_THAT(refusal(R"({"rate_trace": {"link": "bottlenecks", "file": "broken.csv"}})"),
              StartsWith(broken + ": line 3: the time 0 comes after 0"));
  const std::string late = write("late.csv", "time_s,rate_mbit_per_s\n0,100\n9,200\n");
  EXPECT_THAT(refusal(R"({"rate_trace": {"link": "bottlenecks", "file": "late.csv", "period": "9 s"}})"),
              AllOf(StartsWith(file + " at /base/rate_trace/period: must be above 9 s"),
                    HasSubstr("that step would not count")));
  write("cell.up", "1\n5\n150\n");
  EXPECT_THAT(refusal(R"({"rate_trace": {"link": "bottlenecks", "file": "cell.up", "period": "9 s"}})"),
              HasSubstr("has its own period, 150 ms"));
  EXPECT_THAT(refusal(R"({"network_events": [{"at": "1 s", "link": "left-middl", "loss": 0.1}]})"),
              StartsWith(file + " at /base/network_events/0/link: unknown link"));
  EXPECT_THAT(refusal(R"({"network_event": []})"), HasSubstr("did you mean \"network_events\"?"));
  EXPECT_THAT(
      refusal(R"({"topology": "loopback", "rate_trace": {"link": "bottlenecks", "file": "late.csv"}})"),
      HasSubstr("has no links"));
}

TEST_F(ChangingRuns, EventsThatTwoPointsHaveInCommonRememberBothPlaces) {
  const std::string event = R"([{"at": "1 s", "link": "left-middle", "loss": 0.1}])";
  const auto runs = plan(R"({"base": {}, "sweep": {"m": {"a": {"network_events": )" + event +
                         R"(}, "b": {"seed": 2, "network_events": )" + event + "}}}}");
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0].setting, runs[1].setting);
  EXPECT_EQ(runs[0].schedule.events.at(0).place.pointer, "/sweep/m/a/network_events/0");
  EXPECT_EQ(runs[1].schedule.events.at(0).place.pointer, "/sweep/m/b/network_events/0");
}

TEST_F(ChangingRuns, EventsRememberWhereTheUserWroteThem) {
  const thinpipe::Run planned =
      run(R"({"network_events": [{"at": "1 s", "link": "left-middle", "loss": 0.1}]})");
  EXPECT_EQ(planned.schedule.events.at(0).place.pointer, "/base/network_events/0");
  EXPECT_EQ(planned.schedule.events.at(0).place.file, (folder_.path() / "e.json").string());
}

}  // namespace
}  // namespace thinpipe
