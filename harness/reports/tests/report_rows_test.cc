#include <gtest/gtest.h>

#include "harness/reports/rows.hh"
#include "harness/reports/tests/report_record.hh"

namespace thinpipe {
namespace {

TEST(ReportRows, RunsOfOtherSeedsAreOfOneGroupAndRunsOfOtherPruningAreNot) {
  Json other_seed = report_record("pactrain", 0.5, 16);
  other_seed["config"]["seed"] = 2;
  const Json rows =
      rows_of({report_record("pactrain", 0.5, 16), other_seed, report_record("pactrain", 0.7, 16)});
  EXPECT_EQ(rows[0].at("group"), rows[1].at("group"));
  EXPECT_NE(rows[0].at("group"), rows[2].at("group"));
}

TEST(ReportRows, ComputesSpeedUpsAgainstBothBaselines) {
  const Json rows = rows_of(
      {report_record("dense", 0, 80), report_record("fp16", 0, 40), report_record("pactrain", 0.5, 16)});
  EXPECT_DOUBLE_EQ(rows[2].at("time_to_accuracy_s"), 16);
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_dense"), 5);
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_fp16"), 2.5);
  EXPECT_DOUBLE_EQ(rows[1].at("speed_up_over_dense"), 2);
  EXPECT_DOUBLE_EQ(rows[0].at("speed_up_over_dense"), 1);
  EXPECT_EQ(rows[2].at("iterations_to_target"), 5);
  EXPECT_DOUBLE_EQ(rows[2].at("final_accuracy"), 0.79);
  EXPECT_DOUBLE_EQ(rows[2].at("target"), 0.8);
}

TEST(ReportRows, ARunThatNeverReachesTheTargetStays) {
  const Json rows = rows_of({report_record("dense", 0, 80), report_record("topk", 0, std::nullopt)});
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[1].at("reached"), false);
  EXPECT_TRUE(rows[1].at("time_to_accuracy_s").is_null());
  EXPECT_TRUE(rows[1].at("speed_up_over_dense").is_null());
}

TEST(ReportRows, ABaselineThatNeverReachesTheTargetGivesALowerBound) {
  const Json rows = rows_of({report_record("dense", 0, std::nullopt), report_record("topk", 0, 20)});
  EXPECT_DOUBLE_EQ(rows[1].at("speed_up_over_dense"), 5);
  EXPECT_EQ(rows[1].at("speed_up_over_dense_at_least"), true);
}

TEST(ReportRows, BaselinesAreEqualInAllElse) {
  Json other_seed = report_record("dense", 0, 80);
  other_seed["config"]["seed"] = 2;
  Json failed = report_record("dense", 0, 80);
  failed["status"] = "failed";
  const Json rows = rows_of({other_seed, failed, report_record("topk", 0, 20)});
  EXPECT_TRUE(rows[2].at("speed_up_over_dense").is_null());
}

TEST(ReportRows, TheUnprunedBaselineComesFirstThenTheOnePrunedAlike) {
  const Json pruned_alike = report_record("dense", 0.5, 40);
  const Json pruned_otherwise = report_record("dense", 0.9, 20);
  const Json method = report_record("pactrain", 0.5, 10);
  EXPECT_DOUBLE_EQ(
      rows_of({pruned_alike, report_record("dense", 0, 80), method})[2].at("speed_up_over_dense"), 8);
  EXPECT_DOUBLE_EQ(rows_of({pruned_otherwise, pruned_alike, method})[2].at("speed_up_over_dense"), 4);
  EXPECT_TRUE(rows_of({pruned_otherwise, method})[1].at("speed_up_over_dense").is_null());
}

Json trained_by(const Json& trainer, double time_s) {
  Json record = report_record("dense", 0, time_s);
  record["config"]["trainer"] = trainer;
  return record;
}

TEST(ReportRows, ATrainerOfTheUsersIsNoBaselineForTheSynchroniserOfItsConfiguration) {
  const Json rows = rows_of({trained_by("sketch.py", 80), trained_by("sketch.py", 40)});
  EXPECT_TRUE(rows[1].at("speed_up_over_dense").is_null());
  const Json shipped = rows_of({trained_by("pytorch-ddp", 80), trained_by("pytorch-ddp", 40)});
  EXPECT_DOUBLE_EQ(shipped[1].at("speed_up_over_dense"), 2) << "it does what the synchroniser says";
}

TEST(ReportRows, ATrainerOfTheUsersNamesItsMethod) {
  const Json rows = rows_of({trained_by({{"program", "mine.py"}, {"method", "dense"}}, 80),
                             trained_by({{"program", "mine.py"}, {"method", "sketch"}}, 20),
                             trained_by({{"program", "yours.py"}, {"method", "sketch"}}, 20)});
  EXPECT_DOUBLE_EQ(rows[1].at("speed_up_over_dense"), 4);
  EXPECT_TRUE(rows[2].at("speed_up_over_dense").is_null()) << "of another program";
}

TEST(ReportRows, AnAskedTargetReplacesTheRunsOwn) {
  const Json rows = rows_of({report_record("dense", 0, 80)}, Target{.value = 0.795});
  EXPECT_DOUBLE_EQ(rows[0].at("target"), 0.795);
  EXPECT_DOUBLE_EQ(
      rows_of({report_record("dense", 0, 80)}, Target{.value = 0.05})[0].at("time_to_accuracy_s"), 0);
}

TEST(ReportRows, ComparesBottleneckBytesWithWhatWasSent) {
  const Json row = rows_of({report_record("dense", 0, 80)})[0];
  EXPECT_EQ(row.at("bottleneck_direction"), "b->a");
  EXPECT_EQ(row.at("bottleneck_wire_bytes"), 1060000);
  EXPECT_DOUBLE_EQ(row.at("bottleneck_utilisation"), 0.75)
      << "of the busiest direction, not of the busiest link";
  EXPECT_DOUBLE_EQ(row.at("wire_over_sent"), 1.06);
}

TEST(ReportRows, HasNoBottleneckWhereNoneWasCounted) {
  Json loopback = report_record("dense", 0, 80);
  loopback["traffic"]["wire_bytes"] = loopback["traffic"]["utilisation"] = Json::object();
  const Json row = rows_of({loopback})[0];
  for (const char* field :
       {"bottleneck_direction", "bottleneck_wire_bytes", "bottleneck_utilisation", "wire_over_sent"})
    EXPECT_TRUE(row.at(field).is_null()) << field;
}

TEST(ReportRows, SaysWhereLinksChangedDuringTheRun) {
  Json changed = report_record("dense", 0, 80);
  changed["network_events"] = {{{"confirmed_s", 2.5}}, {{"confirmed_s", 3.5}}, {{"confirmed_s", nullptr}}};
  Json missed = report_record("fp16", 0, 40);
  missed["network_events"] = {{{"confirmed_s", nullptr}}};
  const Json rows = rows_of({changed, missed, report_record("topk", 0, 20)});
  EXPECT_EQ(rows[0].at("link_changes"), 2);
  EXPECT_EQ(rows[1].at("link_changes"), 0);
  EXPECT_EQ(rows[2].at("link_changes"), 0) << "records older than network_events";
}

TEST(ReportRows, ARunThatDidNotCompleteHasNoTimeWhateverItsCurveTouched) {
  Json failed = report_record("topk", 0, 20);
  failed["status"] = "failed";
  const Json rows = rows_of({report_record("dense", 0, 80), failed});
  EXPECT_EQ(rows[1].at("reached"), false);
  EXPECT_TRUE(rows[1].at("time_to_accuracy_s").is_null());
  EXPECT_TRUE(rows[1].at("speed_up_over_dense").is_null());
}

TEST(ReportRows, ComparesIterationTimesWithThePrediction) {
  Json predicted = report_record("dense", 0, 80);
  predicted["predicted"] = {{"exchange_time_s", 0.05}, {"iteration_time_s", 0.1}};
  Json unknown = predicted;
  unknown["predicted"]["iteration_time_s"] = nullptr;
  Json unmeasured = predicted;
  unmeasured["iteration_time_s"] = nullptr;
  const Json rows = rows_of({predicted, unknown, unmeasured, report_record("dense", 0, 80)});
  EXPECT_DOUBLE_EQ(rows[0].at("measured_over_predicted"), 1.25);
  EXPECT_DOUBLE_EQ(rows[0].at("predicted").at("exchange_time_s"), 0.05);
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(rows[i].at("measured_over_predicted").is_null()) << i;
  EXPECT_TRUE(rows[3].at("predicted").at("iteration_time_s").is_null()) << "records older than it";
}

TEST(ReportRows, TellsTheErrorOfTheGradientWhereItWasMeasured) {
  Json measured = report_record("topk", 0, 20);
  measured["compression"]["vnmse"] = 0.0625;
  const Json rows = rows_of({measured, report_record("topk", 0, 20)});
  EXPECT_DOUBLE_EQ(rows[0].at("vnmse"), 0.0625);
  EXPECT_DOUBLE_EQ(rows[0].at("effective_density"), 0.5);
  EXPECT_TRUE(rows[1].at("vnmse").is_null());
}

}  // namespace
}  // namespace thinpipe
