// SPDX-License-Identifier: Apache-2.0
// thinpipe run over a network that changes: its record of the changes, and the clock of a rate trace.
#include <algorithm>
#include <fstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

TEST(ChangingNetwork, EveryChangeIsInTheRecordWithTheTimeAtWhichTheKernelConfirmedIt) {
  const Program program;
  std::ofstream(program.folder() / "two.csv") << "time_s,rate_mbit_per_s\n0,40\n0.15,80\n";
  const Json base = {{"topology", "three-switch"},
                     {"iterations", 50},
                     {"iteration_time", "20 ms"},
                     {"rate_trace", {{"link", "left-middle"}, {"file", "two.csv"}, {"period", "300 ms"}}},
                     {"network_events",
                      {{{"at", "100 ms"}, {"link", "middle-right"}, {"rate", "20 Mbit/s"}},
                       {{"at", "200 ms"}, {"link", "middle-right"}, {"state", "down"}},
                       {{"at", "400 ms"}, {"link", "middle-right"}, {"state", "up"}},
                       {{"at", "10 min"}, {"link", "middle-right"}, {"rate", "30 Mbit/s"}}}}};
  const std::string experiment = program.experiment(base);
  const auto ended = program.run(program.run_arguments(experiment));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, testing::HasSubstr("warning: " + experiment +
                                               " at /base/network_events/3/at: is after the end"));
  const Json record = program.record("base");
  const Json& changes = record.at("network_events");
  ASSERT_GE(changes.size(), 4 + 4) << "four events, and the trace's steps of at least 0.6 s: " << changes;
  double before_s = 0;
  int traced = 0;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    const auto confirmed_s = changes[i].at("confirmed_s").get<double>();
    const bool by_train_time = changes[i].at("clock") == "train";
    EXPECT_EQ(by_train_time, changes[i].at("source") == "trace") << changes[i];
    EXPECT_GE(changes[i].at(by_train_time ? "confirmed_train_time_s" : "confirmed_s").get<double>(),
              changes[i].at("at_s").get<double>())
        << changes[i];
    EXPECT_GE(confirmed_s, before_s) << changes[i];
    EXPECT_LE(changes[i].at("iteration"), record.at("iterations"));
    EXPECT_LE(changes[i].at("train_time_s"), record.at("train_time_s"));
    before_s = confirmed_s;
    if (changes[i].at("source") == "trace") {
      const double rate = traced++ % 2 == 0 ? 40e6 : 80e6;
      EXPECT_EQ(changes[i].at("requested"), Json({{"rate_bit_per_s", rate}}));
      for (const char* direction : {"left->middle", "middle->left"}) {
        EXPECT_EQ(changes[i].at("applied").at(direction).at("rate_bit_per_s"), rate);
      }
    }
  }
  EXPECT_GE(traced, 4);
  const Json& missed = changes.back();
  EXPECT_EQ(missed.at("at_s"), 600);
  for (const char* field : {"confirmed_s", "applied", "iteration", "train_time_s"}) {
    EXPECT_TRUE(missed.at(field).is_null()) << field;
  }
  EXPECT_EQ(record.at("config").at("network_events").size(), 4U);
  EXPECT_TRUE(record.at("config").at("rate_trace").at("steps_hash").is_string());
  EXPECT_TRUE(record.at("fidelity").at("verdict").is_string());
}

// A run over a trace that changes every 150 ms of its clock. Twenty iterations take half a second of train
// time; the evaluations take more than twice as long.
Json traced_base(const Program& program, const Json& more = Json::object()) {
  std::ofstream(program.folder() / "two.csv") << "time_s,rate_mbit_per_s\n0,40\n0.15,80\n";
  Json base = {{"topology", "three-switch"},
               {"workers", 3},
               {"iterations", 20},
               {"iteration_time", "25 ms"},
               {"evaluation_time", "60 ms"},
               {"rate_trace", {{"link", "left-middle"}, {"file", "two.csv"}, {"period", "300 ms"}}}};
  base.update(more, true);
  return base;
}

// Returns the record of a run that must complete.
Json traced_record(const Program& program, const Json& base) {
  const auto ended = program.run(program.run_arguments(program.experiment(base)));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  return program.record("base");
}

TEST(ChangingNetwork, ATraceByTrainTimeStandsStillWhileWorkersEvaluate) {
  const Program program;
  const Json record = traced_record(program, traced_base(program));
  EXPECT_EQ(record.at("config").at("rate_trace").at("clock"), "train");
  const auto train_time_s = record.at("train_time_s").get<double>();
  const Json& late = record.at("train_clock").at("stop_delay");
  EXPECT_EQ(late.at("count"), 20);
  // The clock runs until the end of an iteration is reported, so changes may be early by the report's delay.
  const auto early_s = late.at("max_s").get<double>();
  const Json& changes = record.at("network_events");
  ASSERT_FALSE(changes.empty());
  const auto since_first = [&](const Json& change, const char* field) {
    return change.at(field).get<double>() - changes.front().at(field).get<double>();
  };
  for (const Json& change : changes) {
    EXPECT_EQ(change.at("clock"), "train") << change;
    const auto at_s = change.at("at_s").get<double>();
    const auto confirmed_train_time_s = change.at("confirmed_train_time_s").get<double>();
    EXPECT_GE(confirmed_train_time_s, at_s) << change;
    EXPECT_LE(at_s, train_time_s + early_s) << change;
    EXPECT_GE(confirmed_train_time_s, change.at("train_time_s").get<double>()) << change;
    // All earlier iterations except the last have been evaluated.
    const double evaluated_s = 0.06 * std::max(0.0, since_first(change, "iteration") - 1);
    EXPECT_GE(since_first(change, "confirmed_s") + early_s + 1e-6,
              since_first(change, "confirmed_train_time_s") + evaluated_s)
        << change;
  }
  EXPECT_GT(changes.back().at("at_s").get<double>(), train_time_s - 2 * 0.15) << "to the end";
}

TEST(ChangingNetwork, ATraceByTheClockRunsOnWhileWorkersEvaluate) {
  const Program program;
  const Json record = traced_record(program, traced_base(program, {{"rate_trace", {{"clock", "wall"}}}}));
  EXPECT_TRUE(record.at("train_clock").is_null());
  const Json& last = record.at("network_events").back();
  EXPECT_EQ(last.at("clock"), "wall");
  EXPECT_TRUE(last.at("confirmed_train_time_s").is_null());
  EXPECT_GT(last.at("at_s"), record.at("train_time_s"));
}

TEST(ChangingNetwork, ATraceByTrainTimeGoesBackWithARestart) {
  const Program program;
  // The fault happens at the end of iteration 6, when the trace has followed all of it.
  const Json record = traced_record(
      program, traced_base(program, {{"iterations", 8},
                                     {"iteration_time", "400 ms"},
                                     {"evaluation_time", "0 s"},
                                     {"fault", {{"kind", "crash"}, {"iteration", 6}, {"once", true}}},
                                     {"on_worker_failure",
                                      {{"action", "restart"}, {"checkpoint_every_iterations", 4}}}}));
  ASSERT_EQ(record.at("restarts").size(), 1);
  const Json& restart = record.at("restarts").at(0);
  ASSERT_EQ(restart.at("resumed_after_iteration"), 4);
  // Train time at the end of iteration 5. The stand-in's own count is 1.6 s at its checkpoint.
  const double ended_s = 1.6 + restart.at("lost_train_time_s").get<double>();
  std::vector<double> at_s;
  for (const Json& change : record.at("network_events")) at_s.push_back(change.at("at_s"));
  const auto again = std::ranges::adjacent_find(at_s, std::ranges::greater_equal());
  ASSERT_NE(again, at_s.end()) << "the trace's steps during the interrupted iteration are repeated";
  EXPECT_GT(*again, ended_s);
  const double in_force_s = *std::next(again);
  EXPECT_LE(in_force_s, ended_s);
  EXPECT_GT(in_force_s, ended_s - 0.15 - 1e-9);
  EXPECT_EQ(std::ranges::adjacent_find(std::next(again), at_s.end(), std::ranges::greater_equal()),
            at_s.end());
}

TEST(ChangingNetwork, ATrainerThatDoesNotReportStartsIsToldWhatATraceByTrainTimeNeeds) {
  const Program program;
  const fs::path trainer = program.folder() / "silent.sh";
  std::ofstream(trainer)
      << "#!/bin/sh\n"
      << R"(sed -i 's/"report_iteration_starts": true/"report_iteration_starts": false/' "$2")"
      << "\nexec " << fake_trainer() << " \"$@\"\n";
  fs::permissions(trainer, fs::perms::owner_all);
  const Json base = traced_base(program, {{"trainer", "silent.sh"}});
  EXPECT_EQ(program.run(program.run_arguments(program.experiment(base))).status.code, 1);
  const Json error = program.record("base").at("error");
  EXPECT_EQ(error.at("kind"), "protocol");
  EXPECT_THAT(error.at("message").get<std::string>(),
              testing::AllOf(testing::HasSubstr("\"iteration_started\""),
                             testing::HasSubstr("set rate_trace.clock to \"wall\"")));
  const Json by_clock = traced_base(program, {{"trainer", "silent.sh"}, {"rate_trace", {{"clock", "wall"}}}});
  EXPECT_EQ(program.run(program.run_arguments(program.experiment(by_clock), {"--fresh"})).status.code, 0);
}

}  // namespace
}  // namespace thinpipe
