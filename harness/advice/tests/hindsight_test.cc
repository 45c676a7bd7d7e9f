// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/hindsight.hh"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "harness/plan/prediction.hh"
#include "harness/reports/tests/report_record.hh"

namespace thinpipe {
namespace {

// A live run over a capped link, with made-up times.
Json live(const std::string& synchroniser, double exchange_s, double compute_s) {
  Json record = report_record(synchroniser, 0, 10.0);
  record["run_id"] = synchroniser == "dense" ? "00000000000000d0" : "00000000000000f0";
  record["plan"] = {{"gradient_bytes", 4000}, {"bucket_bytes", {1000, 3000}}};
  record["predicted"] = {{"exchange_time_s", exchange_s}, {"iteration_time_s", nullptr}};
  record["iteration_time_s"]["load"] = 0.0;
  record["iteration_time_s"]["compute"] = compute_s;
  return record;
}

Json compare(const std::vector<Json>& records, const CodecCosts& costs = {}) {
  const TemporaryFolder folder;
  std::ofstream file(folder.path() / exported_records_name);
  for (const Json& record : records) file << record_line(record);
  file.close();
  return compare_with_records(folder.path(), costs, [](const std::string& message) { FAIL() << message; });
}

Json row_of(const Json& rows, const std::string& label) {
  for (const Json& row : rows) {
    if (row.at("label") == label) return row;
  }
  return nullptr;
}

TEST(CompareWithRecords, ComputeTimeIsTheDenseRuns) {
  const Json rows = compare({live("dense", 0.1, 0.02), live("fp16", 0.05, 0.03)});
  const Json fp16 = row_of(rows, "fp16");
  EXPECT_EQ(fp16.at("compute_from"), "00000000000000d0") << "the run id";
  EXPECT_EQ(fp16.at("compute_time_s"), 0.02);
  EXPECT_EQ(fp16.at("predicted_iteration_time_s"),
            predict_iteration_s(std::vector<double>{1000, 3000}, 0.02, 0.05));
  EXPECT_EQ(fp16.at("measured_iteration_time_s"), 0.125);
  EXPECT_TRUE(fp16.at("encode_decode_s").is_null());
  EXPECT_EQ(row_of(compare({live("fp16", 0.05, 0.03)}), "fp16").at("compute_is_own"), true);
}

TEST(CompareWithRecords, WorkersThatShareACoreEncodeInTurn) {
  const CodecCosts costs(
      {{"context", {{"cpu", "a CPU"}, {"date", "2026-11-22"}}},
       {"benchmarks", {{{"name", "synchronise/fp16/1000/manual_time"}, {"encode_ms", 2}, {"decode_ms", 1}}}}},
      "b.json");
  Json record = live("fp16", 0.05, 0.03);
  record["config"]["workers"] = 8;
  const Json row = row_of(compare({record}, costs), "fp16");
  EXPECT_NEAR(row.at("encode_decode_s").get<double>(), 4 * 3e-3, 1e-12) << "eight workers, two cores";
}

// Records are read by several threads.
TEST(CompareWithRecords, TwoRecordsOfARunHaveARowEachAndTheFirstDenseOneIsTheBaseline) {
  const TemporaryFolder folder;
  for (const auto& [name, compute_s, mean_s] : {std::tuple("a", 0.02, 0.1), std::tuple("b", 0.5, 0.2)}) {
    std::filesystem::create_directory(folder.path() / name);
    Json record = live("dense", 0.1, compute_s);
    record["iteration_time_s"]["mean"] = mean_s;
    std::ofstream(folder.path() / name / exported_records_name) << record_line(record);
  }
  for (int i = 0; i < 20; ++i) {
    const Json rows = compare_with_records(folder.path(), {}, [](const std::string& /*two of a run*/) {});
    ASSERT_EQ(rows.size(), 2U);
    for (const Json& row : rows) EXPECT_EQ(row.at("compute_time_s"), 0.02);
    EXPECT_EQ(rows[0].at("measured_iteration_time_s"), 0.1);
    EXPECT_EQ(rows[1].at("measured_iteration_time_s"), 0.2);
  }
}

TEST(CompareWithRecords, ARunThatIsNotPredictedHasTheReason) {
  Json record = live("dense", 0.1, 0.02);
  record["config"]["rate_trace"] = "wifi";
  const Json row = row_of(compare({record}), "dense");
  EXPECT_EQ(row.at("not_predicted_because"), "its network changed");
  EXPECT_TRUE(row.at("predicted_iteration_time_s").is_null());
  record = live("dense", 0.1, 0.02);
  record["mode"] = "simulate";
  EXPECT_THROW(compare({record}), InputError);
}

}  // namespace
}  // namespace thinpipe
