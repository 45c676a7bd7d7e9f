// SPDX-License-Identifier: Apache-2.0
#include "harness/records/interrupted_run.hh"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/temporary_folder.hh"
#include "harness/records/record.hh"

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Record part(double train_time_s) {
  Record record{.run_id = "0123456789abcdef",
                .experiment = "test",
                .label = "base",
                .status = "interrupted",
                .mode = "live",
                .train_time_s = train_time_s,
                .iterations = 7};
  record.provenance = {{"version", "1"}, {"cpu", "a CPU"}, {"started_at", "now"}, {"ended_at", "later"}};
  record.traffic.wire_bytes = {{"a->b", 100}, {"b->a", 30}};
  record.traffic.utilisation = {{"a->b", 0.5}, {"b->a", 0.25}};
  record.fidelity = record::Fidelity{.verdict = "faithful", .checks = {{.name = "rate of a->b"}}};
  record.memory.peak_bytes_per_worker = {20, 40};
  return record;
}

Record interrupted(double train_time_s) {
  Record record = part(train_time_s);
  record.checkpoint = {.after_iteration = 7, .path = "0123456789abcdef/interrupted"};
  record.interruptions.emplace().push_back({.after_iteration = 7});
  return record;
}

TEST(InterruptedRun, PartsAddUp) {
  Record last = part(4);
  last.traffic.wire_bytes = {{"a->b", 1000}, {"b->a", std::nullopt}};
  last.traffic.utilisation = {{"a->b", 0.9}, {"b->a", 0.25}};
  last.memory.peak_bytes_per_worker = {30, std::nullopt};
  last.warnings = {{"second"}};
  Record earlier = interrupted(1);
  earlier.warnings = {{"first"}};
  earlier.fidelity->verdict = "not judged";
  add_earlier_parts(last, earlier);
  EXPECT_EQ(last.traffic.wire_bytes.at("a->b"), 1100);
  EXPECT_EQ(last.traffic.wire_bytes.at("b->a"), std::nullopt) << "the counter of one part is unknown";
  EXPECT_DOUBLE_EQ(last.traffic.utilisation.at("a->b").value(), (1 * 0.5 + 3 * 0.9) / 4);
  EXPECT_THAT(last.memory.peak_bytes_per_worker, ElementsAre(30, 40));
  EXPECT_THAT(last.warnings.value(), ElementsAre("first", "second"));
  EXPECT_EQ(last.fidelity->verdict, "not judged");
  ASSERT_THAT(last.fidelity->checks, SizeIs(2));
  EXPECT_EQ(last.fidelity->checks[0].name, "rate of a->b, before the interruption after iteration 7");
  EXPECT_EQ(last.fidelity->checks[1].name, "rate of a->b");
  EXPECT_THAT(last.interruptions.value(), SizeIs(1));
}

TEST(InterruptedRun, ConnectionsOfBothPartsAddUp) {
  const auto connections = [](const char* to, std::int64_t bytes, double round_trip_s) {
    return record::Connections{.from = "a",
                               .to = to,
                               .connections = 1,
                               .acknowledged_bytes = bytes,
                               .retransmitted_segments = 2,
                               .min_round_trip_s = round_trip_s / 2,
                               .mean_round_trip_s = round_trip_s,
                               .max_round_trip_s = round_trip_s * 2};
  };
  Record earlier = interrupted(1);
  earlier.connections = {{connections("b", 100, 1), connections("c", 5, 1)}};
  Record last = part(4);
  last.connections = {{connections("b", 300, 2)}};
  add_earlier_parts(last, earlier);
  ASSERT_THAT(last.connections.value(), SizeIs(2));
  const record::Connections& both = last.connections->at(0);
  EXPECT_EQ(both.connections, 2);
  EXPECT_EQ(both.acknowledged_bytes, 400);
  EXPECT_EQ(both.retransmitted_segments, 4);
  EXPECT_EQ(both.min_round_trip_s, 0.5);
  EXPECT_EQ(both.mean_round_trip_s, (100 * 1 + 300 * 2) / 400.0);
  EXPECT_EQ(both.max_round_trip_s, 4);
  EXPECT_EQ(last.connections->at(1), earlier.connections->at(1)) << "only the earlier part had it";
}

TEST(InterruptedRun, WaitsForACpuAreThoseOfBothParts) {
  Record earlier = interrupted(1);
  earlier.cpu_pressure = record::CpuPressure{.controller = 0.4, .network = 0.2, .machine = std::nullopt};
  earlier.idle_cores = record::IdleCores{
      .kept_awake = true, .wakeup_latency = {.count = 5, .median_s = 3, .p99_s = 4, .max_s = 9}};
  Record last = part(4);
  last.cpu_pressure = record::CpuPressure{.controller = 0.0, .network = 0.2, .machine = 0.5};
  last.idle_cores = record::IdleCores{.kept_awake = false,
                                      .wakeup_latency = {.count = 7, .median_s = 1, .p99_s = 6, .max_s = 7}};
  add_earlier_parts(last, earlier);
  EXPECT_DOUBLE_EQ((*last.cpu_pressure)->controller.value(), 0.1);
  EXPECT_DOUBLE_EQ((*last.cpu_pressure)->network.value(), 0.2);
  EXPECT_EQ((*last.cpu_pressure)->machine, std::nullopt);
  const record::IdleCores expected{.kept_awake = false,
                                   .wakeup_latency = {.count = 12, .median_s = 3, .p99_s = 6, .max_s = 9}};
  EXPECT_EQ(*last.idle_cores, expected);
}

TEST(InterruptedRun, TheWorstVerdictOfAllPartsCounts) {
  const auto verdict_of = [](const char* first, const char* second) {
    Record earlier = interrupted(1);
    Record last = part(2);
    earlier.fidelity->verdict = first;
    last.fidelity->verdict = second;
    add_earlier_parts(last, earlier);
    return last.fidelity->verdict;
  };
  EXPECT_EQ(verdict_of("faithful", "faithful"), "faithful");
  EXPECT_EQ(verdict_of("degraded", "faithful"), "degraded");
  EXPECT_EQ(verdict_of("faithful", "degraded"), "degraded");
  EXPECT_EQ(verdict_of("not judged", "degraded"), "degraded");
  EXPECT_EQ(verdict_of("faithful", "not judged"), "not judged");
}

class KeptInterruption : public testing::Test {
 protected:
  KeptInterruption() {
    std::filesystem::create_directory(kept_);
    for (const char* rank : {"0", "1"})
      std::ofstream(kept_ / (std::string("rank-") + rank + ".iteration-7.pt")) << "weights";
    std::ofstream(folder_.path() / iterations_file_name)
        << to_json(Event(event::Resumed{.iteration = 5, .train_time_s = 2})).dump() << "\n";
    keep_interrupted(folder_.path(), 7, record_);
    write();
  }

  void write() const { std::ofstream(folder_.path() / "run.json") << record_text(to_json(record_)); }

  std::string obstacle(const Json& provenance = {{"version", "1"}}) const {
    return obstacle_to_continuing(find_interrupted(folder_.path()).value(), folder_.path(), provenance, 2);
  }

  TemporaryFolder folder_;
  std::filesystem::path kept_ = folder_.path() / interrupted_folder_name;
  Record record_ = part(1.5);
};

TEST_F(KeptInterruption, IsFoundAgain) {
  const auto found = find_interrupted(folder_.path());
  ASSERT_TRUE(found);
  EXPECT_EQ(obstacle(), "");
  EXPECT_EQ(found->after_iteration(), 7);
  const record::Interruption expected{
      .after_iteration = 7, .train_time_s = 1.5, .started_at = "now", .ended_at = "later", .cpu = "a CPU"};
  EXPECT_THAT(found->record.interruptions.value(), ElementsAre(expected));
}

TEST_F(KeptInterruption, OfAnotherVersionIsNotContinued) {
  EXPECT_EQ(obstacle({{"version", "2"}}), "another version of the program wrote its checkpoint");
}

TEST_F(KeptInterruption, WithoutAWorkersFileIsNotContinued) {
  std::filesystem::remove(kept_ / "rank-1.iteration-7.pt");
  EXPECT_EQ(obstacle(), "its checkpoint is incomplete");
}

TEST_F(KeptInterruption, OfARunThatHasEndedIsNotContinued) {
  record_.status = "completed";
  write();
  EXPECT_FALSE(find_interrupted(folder_.path()));
}

TEST_F(KeptInterruption, GivesTheMeasurementsUntilItsCheckpoint) {
  std::ofstream(folder_.path() / iterations_file_name) << "of a later attempt\n";
  const auto run = find_interrupted(folder_.path());
  const std::vector<Event> events = restore_iterations(run.value(), folder_.path());
  EXPECT_THAT(events, ElementsAre(Event(event::Resumed{.iteration = 5, .train_time_s = 2})));
  EXPECT_EQ(read_file(folder_.path() / iterations_file_name),
            read_file(kept_ / "iterations.iteration-7.jsonl"));
}

// A full disk, or a kill, may leave the files of a second interruption without its record.
TEST_F(KeptInterruption, GivesTheMeasurementsUntilItsCheckpointAlsoAfterALaterOneWithoutARecord) {
  std::ofstream(folder_.path() / iterations_file_name) << "until 9\n";
  Record later = part(2);
  keep_interrupted(folder_.path(), 9, later);
  const auto run = find_interrupted(folder_.path());
  ASSERT_EQ(run->after_iteration(), 7);
  EXPECT_EQ(obstacle(), "");
  remove_other_checkpoints(*run, folder_.path());
  EXPECT_THAT(restore_iterations(*run, folder_.path()), SizeIs(1));
  EXPECT_FALSE(std::filesystem::exists(kept_ / "iterations.iteration-9.jsonl"));
}

}  // namespace
}  // namespace thinpipe
