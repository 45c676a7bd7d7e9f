// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/reports/seed_summary.hh"
#include "harness/reports/tables.hh"
#include "harness/reports/tests/report_record.hh"
#include "harness/reports/text.hh"

namespace thinpipe {
namespace {

Json row(const std::string& method, int seed, const Json& time_s) {
  return {{"run_id", method + std::to_string(seed)},
          {"experiment", "e"},
          {"group", method},
          {"mode", "live"},
          {"status", "completed"},
          {"label", method + ", seed " + std::to_string(seed)},
          {"labels", {{"method", method}, {"seed", "seed " + std::to_string(seed)}}},
          {"target", 0.8},
          {"reached", !time_s.is_null()},
          {"time_to_accuracy_s", time_s},
          {"iterations_to_target", time_s.is_null() ? Json(nullptr) : Json(10 * time_s.get<double>())},
          {"speed_up_over_dense", time_s.is_null() ? Json(nullptr) : Json(30 / time_s.get<double>())},
          {"restricted_speed_up_over_dense", 30 / (time_s.is_null() ? 60 : time_s.get<double>())},
          {"speed_up_over_dense_is_upper_bound", time_s.is_null()},
          {"final_accuracy", 0.75 + 0.01 * seed}};
}

TEST(Summarise, GivesMeanDeviationAndInterval) {
  const Json three = summarise({10, 12, 17});
  EXPECT_DOUBLE_EQ(three.at("mean"), 13);
  EXPECT_NEAR(three.at("standard_deviation"), 3.605551, 1e-6);  // sqrt((9 + 1 + 16) / 2)
  EXPECT_EQ(three.at("ci95_low"), 10);
  EXPECT_EQ(three.at("ci95_high"), 17);
  EXPECT_EQ(summarise({4}), Json({{"count", 1},
                                  {"mean", 4.0},
                                  {"standard_deviation", nullptr},
                                  {"ci95_low", nullptr},
                                  {"ci95_high", nullptr}}));
  EXPECT_TRUE(summarise({}).at("mean").is_null());
}

std::string name_of(const std::string& label, const std::string& seed) {
  return label_without_seed({{"label", label}, {"labels", {{"seed", seed}, {"m", "x"}}}});
}

TEST(SummariseRatios, IsTheInverseOfTheInverseRatios) {
  const Json ratios = summarise_ratios({0.5, 2, 8});
  EXPECT_NEAR(ratios.at("mean"), 2, 1e-12);
  EXPECT_NEAR(ratios.at("standard_deviation"), 4, 1e-12);
  EXPECT_NEAR(ratios.at("ci95_low"), 0.5, 1e-12);
  EXPECT_NEAR(ratios.at("ci95_high"), 8, 1e-12);
  const Json inverse = summarise_ratios({2, 0.5, 0.125});
  EXPECT_NEAR(inverse.at("mean"), 0.5, 1e-12);
  EXPECT_NEAR(inverse.at("ci95_low"), 0.125, 1e-12);
  EXPECT_TRUE(summarise_ratios({}).at("mean").is_null());
}

TEST(SeedSummary, NamesAGroupByItsLabelWithoutTheSeed) {
  EXPECT_EQ(name_of("dense, 10 Mbit/s, 1", "1"), "dense, 10 Mbit/s");
  EXPECT_EQ(name_of("1, dense, 10 Mbit/s", "1"), "dense, 10 Mbit/s");
  EXPECT_EQ(name_of("dense, 1, 10 Mbit/s", "1"), "dense, 10 Mbit/s");
  EXPECT_EQ(name_of("dense, 10 Mbit/s, seed 1", "seed 1"), "dense, 10 Mbit/s");
  EXPECT_EQ(name_of("1, dense, 1", "1"), "1, dense") << "a repeated experiment's seed is the last";
  EXPECT_EQ(name_of("1", "1"), "base");
  EXPECT_EQ(name_of("11, 21", "1"), "11, 21");
}

TEST(SeedSummary, GroupsWhatDiffersInTheSeedAlone) {
  const Json entries = summarise_seeds(
      {row("dense", 1, 30), row("topk", 1, 10), row("dense", 2, 34), row("topk", 2, 12), row("fp16", 1, 20)});
  ASSERT_EQ(entries.size(), 3);
  EXPECT_EQ(entries[0].at("run_ids"), Json({"dense1", "dense2"}));
  EXPECT_EQ(entries[0].at("labels"), Json({{"method", "dense"}}));
  EXPECT_TRUE(entries[2].at("time_to_accuracy_s").at("ci95_low").is_null()) << "a single run has no spread";
  EXPECT_EQ(with_several_runs(entries), Json({entries[0], entries[1]}));
  EXPECT_EQ(entries[0].at("label"), "dense");
  EXPECT_DOUBLE_EQ(entries[0].at("time_to_accuracy_s").at("mean"), 32);
  EXPECT_EQ(entries[1].at("label"), "topk");
  EXPECT_NEAR(entries[1].at("speed_up_over_dense").at("mean"), std::sqrt(3 * 2.5), 1e-12);
  EXPECT_DOUBLE_EQ(entries[1].at("final_accuracy").at("mean"), 0.765);
  EXPECT_TRUE(entries[1].at("speed_up_over_fp16").at("mean").is_null());
}

TEST(SeedSummary, HasTimesWithSetUp) {
  Json first = row("topk", 1, 10);
  Json second = row("topk", 2, 14);
  first["time_to_accuracy_with_set_up_s"] = 12;
  first["speed_up_over_dense_with_set_up"] = 2;
  second["time_to_accuracy_with_set_up_s"] = 16;
  second["speed_up_over_dense_with_set_up"] = nullptr;
  const Json entry = summarise_seeds({first, second})[0];
  EXPECT_DOUBLE_EQ(entry.at("time_to_accuracy_with_set_up_s").at("mean"), 14);
  EXPECT_EQ(entry.at("speed_up_over_dense_with_set_up").at("count"), 1);
}

TEST(SeedSummary, KeepsRunsThatNeverReachedTheTarget) {
  const Json entries = summarise_seeds({row("topk", 1, 10), row("topk", 2, nullptr), row("topk", 3, 14)});
  EXPECT_EQ(entries[0].at("runs"), 3);
  EXPECT_EQ(entries[0].at("reached"), 2);
  EXPECT_DOUBLE_EQ(entries[0].at("time_to_accuracy_s").at("mean"), 12);
  EXPECT_DOUBLE_EQ(entries[0].at("iterations_to_target").at("mean"), 120);
}

TEST(SeedSummary, ARelativeTimeIsTheInverseOfTheSpeedUp) {
  const Json entry = summarise_seeds({row("topk", 1, 10), row("topk", 2, 60)})[0];  // 3 and 0.5
  const Json& speed_up = entry.at("speed_up_over_dense");
  const Json& time = entry.at("relative_time_to_dense");
  EXPECT_NEAR(speed_up.at("mean"), std::sqrt(1.5), 1e-12);
  EXPECT_NEAR(time.at("mean"), 1 / std::sqrt(1.5), 1e-12);
  EXPECT_NEAR(time.at("ci95_low"), 1 / 3.0, 1e-12);
  EXPECT_NEAR(time.at("ci95_high"), 2, 1e-12);
}

TEST(SeedSummary, ARunThatMissedTheTargetBoundsTheSpeedUp) {
  const Json entry = summarise_seeds({row("topk", 1, 10), row("topk", 2, nullptr)})[0];
  EXPECT_NEAR(entry.at("speed_up_over_dense").at("mean"), 3, 1e-12) << "of the lucky run";
  EXPECT_NEAR(entry.at("restricted_speed_up_over_dense").at("mean"), std::sqrt(3 * 0.5), 1e-12);
  EXPECT_NEAR(entry.at("restricted_relative_time_to_dense").at("mean"), 1 / std::sqrt(3 * 0.5), 1e-12);
  EXPECT_EQ(entry.at("speed_up_over_dense_is_upper_bound"), true);
  EXPECT_EQ(summarise_seeds(Json::array({row("topk", 1, 10)}))[0].at("speed_up_over_dense_is_upper_bound"),
            false);
}

TEST(SeedSummary, TheNoteSaysHowOftenIntervalsOfSoFewSeedsHold) {
  const auto note = [](const std::vector<int>& seeds) {
    Json rows = Json::array();
    for (const int count : seeds) {
      for (int seed = 0; seed < count; ++seed) rows.push_back(row("m" + std::to_string(count), seed, 10));
    }
    return spread_note(summarise_seeds(rows));
  };
  EXPECT_THAT(note({3}), testing::HasSubstr("with 3 seeds it covers the true mean in about 75 % of cases."));
  EXPECT_THAT(
      note({5, 2, 1}),
      testing::HasSubstr("with 2 seeds it covers the true mean in about 50 % of cases, with 5 in 84 %."));
  EXPECT_THAT(note({12}), testing::Not(testing::HasSubstr("of cases")));
}

TEST(SeedSummary, TheNoteCountsTheSeedsThatHaveABaseline) {
  Json rows = Json::array();
  for (int seed = 0; seed < 5; ++seed) {
    rows.push_back(row("topk", seed, 10));
    if (seed >= 3) rows.back()["speed_up_over_dense"] = nullptr;
  }
  EXPECT_THAT(
      spread_note(summarise_seeds(rows)),
      testing::HasSubstr("with 3 seeds it covers the true mean in about 75 % of cases, with 5 in 84 %."));
}

TEST(SeedSummary, MeansAreOverCompletedRuns) {
  Json interrupted = row("topk", 2, nullptr);
  interrupted["status"] = "interrupted";
  const Json entry = summarise_seeds({row("topk", 1, 10), interrupted})[0];
  EXPECT_EQ(entry.at("completed"), 1);
  EXPECT_EQ(entry.at("failed"), 0) << "it was interrupted";
  EXPECT_EQ(entry.at("final_accuracy").at("count"), 1);
  EXPECT_DOUBLE_EQ(entry.at("final_accuracy").at("mean"), 0.76);
}

TEST(SeedSummary, HasTheFurtherBaselines) {
  Json first = row("topk", 1, 10);
  first["speed_up_over_DDP"] = 3;
  Json second = row("topk", 2, 12);
  second["speed_up_over_DDP"] = 5;
  second["speed_up_over_DDP_is_lower_bound"] = true;
  const Json entry = summarise_seeds({first, second}, {"dense", "DDP"})[0];
  EXPECT_NEAR(entry.at("speed_up_over_DDP").at("mean"), std::sqrt(15), 1e-12);
  EXPECT_EQ(entry.at("speed_up_over_DDP_is_lower_bound"), true);
  EXPECT_FALSE(entry.contains("speed_up_over_fp16"));
}

TEST(SeedSummary, AMeanOfLowerBoundsIsOne) {
  Json bound = row("topk", 2, 12);
  bound["speed_up_over_dense_is_lower_bound"] = true;
  const Json entries = summarise_seeds({row("topk", 1, 10), bound, row("fp16", 1, 20), row("fp16", 2, 20)});
  EXPECT_EQ(entries[0].at("speed_up_over_dense_is_lower_bound"), true);
  EXPECT_EQ(entries[0].at("speed_up_over_fp16_is_lower_bound"), false);
  EXPECT_EQ(entries[1].at("speed_up_over_dense_is_lower_bound"), false);
}

// With one seed only the method reaches the target, with the other only the baseline.
TEST(SeedSummary, BoundsFromBothSidesHaveNoMean) {
  const auto text_with = [](std::optional<double> dense_s) {
    std::vector<Json> records;
    for (const auto& [method, times_s] : {std::pair("dense", std::vector<std::optional<double>>{dense_s, 80}),
                                          {"topk", {20, std::nullopt}}}) {
      for (std::size_t i = 0; i < times_s.size(); ++i) {
        Json record = report_record(method, 0, times_s[i]);
        record["run_id"] = method + std::to_string(i);
        record["config"]["seed"] = i;
        record["labels"]["seed"] = std::to_string(i);
        records.push_back(std::move(record));
      }
    }
    return text_table(seeds_table(make_report(records).groups));
  };
  EXPECT_THAT(text_with(40), testing::HasSubstr("≤ 1.26x")) << "of 2 and 0.8";
  EXPECT_THAT(text_with(std::nullopt), testing::Not(testing::HasSubstr("≤ 0.80x")));
}

TEST(SeedSummary, SummarisesTrafficAndIterationTimesToo) {
  Json first = row("topk", 1, 10);
  first.update({{"bottleneck_wire_bytes", 100}, {"bottleneck_utilisation", 0.5}, {"vnmse", 0.1}});
  first.update({{"iteration_time_s", {{"mean", 0.25}}}, {"measured_over_predicted", 1.5}});
  Json second = row("topk", 2, 12);
  second.update({{"bottleneck_wire_bytes", 300}, {"bottleneck_utilisation", 0.25}, {"vnmse", 0.3}});
  second.update({{"iteration_time_s", nullptr}, {"measured_over_predicted", nullptr}});
  const Json entry = summarise_seeds({first, second})[0];
  EXPECT_DOUBLE_EQ(entry.at("bottleneck_wire_bytes").at("mean"), 200);
  EXPECT_DOUBLE_EQ(entry.at("bottleneck_utilisation").at("mean"), 0.375);
  EXPECT_DOUBLE_EQ(entry.at("vnmse").at("mean"), 0.2);
  EXPECT_DOUBLE_EQ(entry.at("iteration_time_s").at("mean"), 0.25) << "of the run that has one";
  EXPECT_NEAR(entry.at("measured_over_predicted").at("mean"), 1.5, 1e-12);
}

TEST(SeedSummary, CountsDegradedRuns) {
  Json faithful = row("topk", 1, 10);
  faithful["fidelity"] = "faithful";
  Json degraded = row("topk", 2, 12);
  degraded["fidelity"] = "degraded";
  Json not_judged = row("topk", 4, 12);
  not_judged["fidelity"] = "not judged";
  not_judged["speed_up_over_dense_fidelity"] = "not judged";
  const Json entry = summarise_seeds({faithful, degraded, row("topk", 3, 12), not_judged})[0];
  EXPECT_EQ(entry.at("judged"), 2) << "one has no verdict";
  EXPECT_EQ(entry.at("degraded"), 1);
  EXPECT_EQ(entry.at("not_judged"), 1);
  EXPECT_EQ(entry.at("speed_up_over_dense_fidelity"), "not judged");
}

}  // namespace
}  // namespace thinpipe
