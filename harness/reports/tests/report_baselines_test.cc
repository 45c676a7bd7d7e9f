// SPDX-License-Identifier: Apache-2.0
// Which run is the baseline that another one's speed-up is over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/reports/rows.hh"
#include "harness/reports/tests/report_record.hh"

namespace thinpipe {
namespace {

TEST(ReportBaselines, ABaselineThatHoldsItsTargetForLongerIsNone) {
  Json dense = report_record("dense", 0, 100);
  dense["config"]["hold"] = 3;
  Json topk = report_record("topk", 0, 20);
  topk["config"]["hold"] = 1;
  const Json row = rows_of({dense, topk})[1];
  EXPECT_TRUE(row.at("speed_up_over_dense").is_null());
  EXPECT_TRUE(row.at("baseline_dense").is_null());
  EXPECT_THAT(row.at("warnings").dump(),
              testing::HasSubstr("dense counts a target as held after 3 evaluations"));
}

TEST(ReportBaselines, BaselinesAreEqualInAllElse) {
  Json other_seed = report_record("dense", 0, 80);
  other_seed["config"]["seed"] = 2;
  Json failed = report_record("dense", 0, 80);
  failed.update({{"status", "failed"}, {"error", {{"kind", "crash"}, {"message", "it died"}}}});
  const Json rows = rows_of({other_seed, failed, report_record("topk", 0, 20)});
  EXPECT_TRUE(rows[2].at("speed_up_over_dense").is_null());
}

TEST(ReportBaselines, TheUnprunedBaselineComesFirstThenTheOnePrunedAlike) {
  const Json pruned_alike = report_record("dense", 0.5, 40);
  const Json pruned_otherwise = report_record("dense", 0.9, 20);
  const Json method = report_record("pactrain", 0.5, 10);
  EXPECT_DOUBLE_EQ(
      rows_of({pruned_alike, report_record("dense", 0, 80), method})[2].at("speed_up_over_dense"), 8);
  EXPECT_DOUBLE_EQ(rows_of({pruned_otherwise, pruned_alike, method})[2].at("speed_up_over_dense"), 4);
  EXPECT_TRUE(rows_of({pruned_otherwise, method})[1].at("speed_up_over_dense").is_null());
}

Json with_momentum(Json record, double momentum) {
  record["config"]["optimiser"] = {{"momentum", momentum}};
  return record;
}

TEST(ReportBaselines, AMethodWithAnOptimiserOfItsOwnHasTheBaselineWithItsOtherLabels) {
  Json elsewhere = with_momentum(report_record("dense", 0, 40), 0.9);
  elsewhere["labels"]["cap"] = "1 Gbit/s";
  const Json dense = with_momentum(report_record("dense", 0, 80), 0.9);
  const Json method = with_momentum(report_record("dgc", 0, 20), 0);
  EXPECT_DOUBLE_EQ(rows_of({dense, method, elsewhere})[1].at("speed_up_over_dense"), 4);
  EXPECT_TRUE(rows_of({method, elsewhere})[0].at("speed_up_over_dense").is_null());
  const Json tuned_alike = with_momentum(report_record("dense", 0, 60), 0);
  EXPECT_DOUBLE_EQ(rows_of({tuned_alike, method, dense})[1].at("speed_up_over_dense"), 3)
      << "an equal optimiser comes first";
}

TEST(ReportBaselines, APrunedDenseRunDoesNotHideTheUnprunedOneWithTheSameLabels) {
  const Json dense = with_momentum(report_record("dense", 0, 80), 0.9);
  Json pruned = with_momentum(report_record("dense", 0.5, 40), 0.9);
  pruned["labels"]["method"] = pruned["label"] = pruned["run_id"] = "dense, pruned";
  const Json method = with_momentum(report_record("dgc", 0, 20), 0);
  EXPECT_DOUBLE_EQ(rows_of({dense, method, pruned})[1].at("speed_up_over_dense"), 4);
  EXPECT_DOUBLE_EQ(rows_of({pruned, method, dense})[1].at("speed_up_over_dense"), 4);
}

TEST(ReportBaselines, AFurtherBaselineIsNamedByItsLabelAndMayDifferInAnything) {
  Json ddp = report_record("dense", 0, 80);
  ddp["config"]["trainer"] = "pytorch-ddp";
  ddp["run_id"] = "7";
  ddp["labels"]["method"] = "DDP";
  Json other_seed = ddp;
  other_seed["config"]["seed"] = 2;
  const Json rows = rows_of({ddp, report_record("topk", 0, 20), other_seed}, {}, {"DDP", "dense"});
  EXPECT_TRUE(rows[1].at("speed_up_over_dense").is_null()) << "of another program";
  EXPECT_DOUBLE_EQ(rows[1].at("speed_up_over_DDP"), 4);
  EXPECT_DOUBLE_EQ(rows[1].at("relative_time_to_DDP"), 0.25);
  EXPECT_EQ(rows[1].at("baseline_DDP"), "7");
  try {
    rows_of({ddp}, {}, {"Horovod"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "--over Horovod: no run has this method; the methods are: DDP");
  }
}

Json trained_by(const Json& trainer, double time_s) {
  Json record = report_record("dense", 0, time_s);
  record["config"]["trainer"] = trainer;
  return record;
}

TEST(ReportBaselines, ATrainerOfTheUsersIsNoBaselineForTheSynchroniserOfItsConfiguration) {
  const Json rows = rows_of({trained_by("sketch.py", 80), trained_by("sketch.py", 40)});
  EXPECT_TRUE(rows[1].at("speed_up_over_dense").is_null());
  const Json shipped = rows_of({trained_by("pytorch-ddp", 80), trained_by("pytorch-ddp", 40)});
  EXPECT_DOUBLE_EQ(shipped[1].at("speed_up_over_dense"), 2) << "it does what the synchroniser says";
}

TEST(ReportBaselines, ATrainerOfTheUsersNamesItsMethod) {
  const Json rows = rows_of({trained_by({{"program", "mine.py"}, {"method", "dense"}}, 80),
                             trained_by({{"program", "mine.py"}, {"method", "sketch"}}, 20),
                             trained_by({{"program", "yours.py"}, {"method", "sketch"}}, 20)});
  EXPECT_DOUBLE_EQ(rows[1].at("speed_up_over_dense"), 4);
  EXPECT_TRUE(rows[2].at("speed_up_over_dense").is_null()) << "of another program";
}

TEST(ReportBaselines, TheBaselineOfAHookIsDenseInTheSameTrainer) {
  const Json hook = {{"name", "/mine.py:sketch"}, {"rank", 2}};
  const Json rows =
      rows_of({trained_by("pytorch-ddp", 80),
               trained_by({{"program", "pytorch-ddp"}, {"hook", hook}, {"method", "sketch"}}, 20)});
  EXPECT_DOUBLE_EQ(rows[1].at("speed_up_over_dense"), 4);
}

// A run whose trainer is a command.
Json scripted(const std::string& method, const Json& options, double time_s, const std::string& label = "") {
  Json record = trained_by(
      {{"command", {"python3", "train.py"}}, {"method", method}, {"inputs_hash", "00"}, {"options", options}},
      time_s);
  for (const char* part : {"synchroniser", "pruning", "model", "dataset"}) record["config"].erase(part);
  record["labels"] = {{"method", label.empty() ? method : label},
                      {"depth", options.value("depth", 1) == 1 ? "1" : "2"}};
  return record;
}

TEST(ReportBaselines, AScriptsBaselineHasItsOtherOptions) {
  const Json rows = rows_of({scripted("dense", {{"depth", 1}}, 80), scripted("dense", {{"depth", 2}}, 40),
                             scripted("sketch", {{"depth", 2}}, 20)});
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_dense"), 2);
}

TEST(ReportBaselines, AScriptsMethodMayHaveOptionsOfItsOwnAsALabel) {
  const Json rows = rows_of({scripted("dense", {{"depth", 1}}, 80), scripted("dense", {{"depth", 2}}, 40),
                             scripted("sketch", {{"depth", 2}, {"ratio", 0.1}}, 20)});
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_dense"), 2);
}

TEST(ReportBaselines, AScriptIsComparedOnlyWithItself) {
  Json other = scripted("dense", {{"depth", 1}}, 80);
  other["config"]["trainer"]["command"][1] = "other.py";
  Json edited = scripted("dense", {{"depth", 1}}, 80);
  edited["config"]["trainer"]["inputs_hash"] = "01";
  const Json rows = rows_of({report_record("dense", 0, 80), other, edited,
                             scripted("sketch", {{"depth", 1}}, 20), report_record("topk", 0, 20)});
  EXPECT_TRUE(rows[3].at("speed_up_over_dense").is_null());
  EXPECT_DOUBLE_EQ(rows[4].at("speed_up_over_dense"), 4);
}

TEST(ReportBaselines, WarnIfABaselineWasMeasuredElsewhere) {
  Json elsewhere = report_record("dense", 0, 80);
  elsewhere["provenance"]["cpu"] = "a faster processor";
  const Json run = report_record("topk", 0, 20);
  EXPECT_EQ(rows_of({elsewhere, run})[1].at("warnings"),
            Json({"dense was measured by another machine or program: a faster processor, 2 cores, commit "
                  "0123456789; this run: a processor, 2 cores, commit 0123456789"}));
  Json older = report_record("dense", 0, 80);
  older["provenance"]["git_commit"] = "fedcba9876543210";
  EXPECT_EQ(rows_of({older, run})[1].at("warnings").size(), 1);
  EXPECT_EQ(rows_of({report_record("dense", 0, 80), run})[1].at("warnings"), Json::array());
  Json simulated = run;
  simulated["mode"] = elsewhere["mode"] = "simulate";
  EXPECT_EQ(rows_of({elsewhere, simulated})[1].at("warnings"), Json::array()) << "nothing was measured";
}

}  // namespace
}  // namespace thinpipe
