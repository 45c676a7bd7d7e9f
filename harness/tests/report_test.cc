#include "harness/report.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/table.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::Not;

// A completed run that reaches accuracy 0.8 after `time_s` of its 100 s, or never.
Json record(const std::string& synchroniser, double pruning_ratio, std::optional<double> time_s) {
  Json curve = {{{"iteration", 0}, {"epoch", 0}, {"train_time_s", 0.0}, {"test_accuracy", 0.1}}};
  if (time_s) {
    curve.push_back({{"iteration", 5}, {"epoch", 0}, {"train_time_s", *time_s}, {"test_accuracy", 0.8}});
  }
  curve.push_back({{"iteration", 9}, {"epoch", 1}, {"train_time_s", 100.0}, {"test_accuracy", 0.79}});
  return {
      {"run_id", synchroniser},
      {"experiment", "e"},
      {"label", synchroniser},
      {"labels", {{"method", synchroniser}}},
      {"mode", "live"},
      {"status", "completed"},
      {"error", nullptr},
      {"config",
       {{"seed", 1},
        {"targets", {0.5, 0.8}},
        {"synchroniser", {{"name", synchroniser}}},
        {"pruning", {{"ratio", pruning_ratio}}},
        {"topology",
         {{"links",
           {{{"between", {"a", "b"}}, {"bottleneck", true}},
            {{"between", {"a", "w0"}}, {"bottleneck", false}}}}}}}},
      {"curve", curve},
      {"train_time_s", 100.0},
      {"iteration_time_s",
       {{"mean", 0.125}, {"compute", 0.05}, {"encode", 0.01}, {"exposed_exchange", 0.06}, {"decode", 0.005}}},
      {"traffic",
       {{"payload_bytes_per_worker", 400000},
        {"sent_bytes_per_worker", 1000000},
        {"wire_bytes", {{"a->b", 1050000}, {"b->a", 1060000}, {"a->w0", 9000000}}},
        {"utilisation", {{"a->b", 0.5}}}}},
      {"fidelity", {{"verdict", "faithful"}, {"checks", Json::array()}}}};
}

TEST(Report, RunsOfOtherSeedsAreOfOneGroupAndRunsOfOtherPruningAreNot) {
  Json other_seed = record("pactrain", 0.5, 16);
  other_seed["config"]["seed"] = 2;
  const Json rows = make_report({record("pactrain", 0.5, 16), other_seed, record("pactrain", 0.7, 16)});
  EXPECT_EQ(rows[0].at("group"), rows[1].at("group"));
  EXPECT_NE(rows[0].at("group"), rows[2].at("group"));
}

TEST(Report, ComputesSpeedUpsAgainstBothBaselines) {
  const Json rows = make_report({record("dense", 0, 80), record("fp16", 0, 40), record("pactrain", 0.5, 16)});
  EXPECT_DOUBLE_EQ(rows[2].at("time_to_accuracy_s"), 16);
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_dense"), 5);
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_fp16"), 2.5);
  EXPECT_DOUBLE_EQ(rows[1].at("speed_up_over_dense"), 2);
  EXPECT_DOUBLE_EQ(rows[0].at("speed_up_over_dense"), 1);
  EXPECT_DOUBLE_EQ(rows[2].at("final_accuracy"), 0.79);
  EXPECT_DOUBLE_EQ(rows[2].at("target"), 0.8);
}

TEST(Report, ARunThatNeverReachesTheTargetStays) {
  const Json rows = make_report({record("dense", 0, 80), record("topk", 0, std::nullopt)});
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[1].at("reached"), false);
  EXPECT_TRUE(rows[1].at("time_to_accuracy_s").is_null());
  EXPECT_TRUE(rows[1].at("speed_up_over_dense").is_null());
  EXPECT_THAT(format_report(rows), HasSubstr("not reached"));
}

TEST(Report, ABaselineThatNeverReachesTheTargetGivesALowerBound) {
  const Json rows = make_report({record("dense", 0, std::nullopt), record("topk", 0, 20)});
  EXPECT_DOUBLE_EQ(rows[1].at("speed_up_over_dense"), 5);
  EXPECT_EQ(rows[1].at("speed_up_over_dense_at_least"), true);
  EXPECT_THAT(format_report(rows), HasSubstr(">5.00x"));
}

TEST(Report, BaselinesAreEqualInAllElse) {
  Json other_seed = record("dense", 0, 80);
  other_seed["config"]["seed"] = 2;
  Json failed = record("dense", 0, 80);
  failed["status"] = "failed";
  const Json rows = make_report({other_seed, failed, record("topk", 0, 20)});
  EXPECT_TRUE(rows[2].at("speed_up_over_dense").is_null());
  EXPECT_THAT(format_report(rows), HasSubstr("-"));
}

TEST(Report, TheUnprunedBaselineComesFirstThenTheOnePrunedAlike) {
  const Json pruned_alike = record("dense", 0.5, 40);
  const Json pruned_otherwise = record("dense", 0.9, 20);
  const Json method = record("pactrain", 0.5, 10);
  EXPECT_DOUBLE_EQ(make_report({pruned_alike, record("dense", 0, 80), method})[2].at("speed_up_over_dense"),
                   8);
  EXPECT_DOUBLE_EQ(make_report({pruned_otherwise, pruned_alike, method})[2].at("speed_up_over_dense"), 4);
  EXPECT_TRUE(make_report({pruned_otherwise, method})[1].at("speed_up_over_dense").is_null());
}

TEST(Report, AnAskedTargetReplacesTheRunsOwn) {
  const Json rows = make_report({record("dense", 0, 80)}, Target{.value = 0.795});
  EXPECT_DOUBLE_EQ(rows[0].at("target"), 0.795);
  EXPECT_DOUBLE_EQ(make_report({record("dense", 0, 80)}, Target{.value = 0.05})[0].at("time_to_accuracy_s"),
                   0);
}

TEST(Report, ComparesBottleneckBytesWithWhatWasSent) {
  const Json row = make_report({record("dense", 0, 80)})[0];
  EXPECT_EQ(row.at("bottleneck_wire_bytes"), 1060000);
  EXPECT_DOUBLE_EQ(row.at("wire_over_sent"), 1.06);
}

TEST(Report, SaysWhereLinksChangedDuringTheRun) {
  Json changed = record("dense", 0, 80);
  changed["network_events"] = {{{"confirmed_s", 2.5}}, {{"confirmed_s", 3.5}}, {{"confirmed_s", nullptr}}};
  Json missed = record("fp16", 0, 40);
  missed["network_events"] = {{{"confirmed_s", nullptr}}};
  const Json rows = make_report({changed, missed, record("topk", 0, 20)});
  EXPECT_EQ(rows[0].at("link_changes"), 2);
  EXPECT_EQ(rows[1].at("link_changes"), 0);
  EXPECT_EQ(rows[2].at("link_changes"), 0) << "records older than network_events";
  EXPECT_THAT(format_report(Json::array({rows[0]})), HasSubstr("faithful, links changed"));
  EXPECT_THAT(format_report(Json::array({rows[1], rows[2]})), Not(HasSubstr("changed")));
}

TEST(Report, FailedRunsAreNamedInTheTable) {
  Json failed = record("topk", 0, std::nullopt);
  failed["status"] = "failed";
  failed["curve"] = Json::array();
  failed["iteration_time_s"] = nullptr;
  failed["fidelity"] = nullptr;
  EXPECT_THAT(format_report(make_report({failed})), HasSubstr("failed"));
}

TEST(Table, AlignsTheFirstColumnLeftAndTheOthersRight) {
  EXPECT_EQ(format_table({"method", "n"}, {{"a", "100"},
                                           {"gr\xC3\xB6\xC3\x9F"
                                            "er",
                                            "5"}}),
            "method    n\n"
            "a       100\n"
            "gr\xC3\xB6\xC3\x9F"
            "er    5\n");
}

TEST(FormatBytes, KeepsThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(82.14e6), "82.1 MB");
  EXPECT_EQ(format_bytes(999.9e6), "1.00 GB");
}

}  // namespace
}  // namespace thinpipe
