// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/reports/rows.hh"
#include "harness/reports/tests/report_record.hh"
#include "harness/reports/text.hh"

namespace thinpipe {
namespace {

// Convergence runs have no times, and a bound of nothing is not shown.
TEST(ReportRows, ConvergenceRunsHaveNoBoundsOfSpeedUps) {
  std::vector<Json> records;
  for (const int seed : {1, 2}) {
    for (const auto& [method, time_s] : {std::pair("dense", std::optional<double>()), {"topk", 20.0}}) {
      Json record = report_record(method, 0, time_s);
      record["run_id"] = fmt::format("{}{}", method, seed);
      record["mode"] = "converge";
      record["config"]["seed"] = seed;
      record["labels"]["seed"] = std::to_string(seed);
      record["train_time_s"] = nullptr;
      for (Json& point : record["curve"]) point["train_time_s"] = nullptr;
      records.push_back(record);
    }
  }
  const std::string text = text_report(make_report(records));
  EXPECT_THAT(text, testing::HasSubstr("topk"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr(">-"))) << text;
}

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
  EXPECT_DOUBLE_EQ(rows[1].at("restricted_speed_up_over_dense"), 0.8) << "over its 100 s";
  EXPECT_DOUBLE_EQ(rows[1].at("restricted_relative_time_to_dense"), 1.25);
  EXPECT_DOUBLE_EQ(rows[1].at("restricted_convergence_speed_over_dense"), 5.0 / 9);
  EXPECT_EQ(rows[1].at("speed_up_over_dense_is_upper_bound"), true);
  EXPECT_EQ(rows[1].at("speed_up_over_dense_is_lower_bound"), false);
  EXPECT_EQ(rows[1].at("speed_up_over_dense_fidelity"), "faithful");
}

TEST(ReportRows, TwoRunsThatNeverReachTheTargetHaveNoRatio) {
  const Json row =
      rows_of({report_record("dense", 0, std::nullopt), report_record("topk", 0, std::nullopt)})[1];
  EXPECT_TRUE(row.at("speed_up_over_dense").is_null());
  EXPECT_TRUE(row.at("restricted_speed_up_over_dense").is_null());
  EXPECT_EQ(row.at("speed_up_over_dense_is_upper_bound"), false);
}

TEST(ReportRows, AFailedRunIsABoundWithoutAValue) {
  const Json row = rows_of({report_record("dense", 0, 80), failed_report_record()})[1];
  EXPECT_TRUE(row.at("restricted_speed_up_over_dense").is_null());
  EXPECT_EQ(row.at("speed_up_over_dense_is_upper_bound"), true);
  EXPECT_EQ(row.at("warnings"), Json::array());
}

TEST(ReportRows, ABaselineThatNeverReachesTheTargetGivesALowerBound) {
  const Json rows = rows_of({report_record("dense", 0, std::nullopt), report_record("topk", 0, 20)});
  EXPECT_DOUBLE_EQ(rows[1].at("speed_up_over_dense"), 5);
  EXPECT_EQ(rows[1].at("speed_up_over_dense_is_lower_bound"), true);
  EXPECT_TRUE(rows[1].at("restricted_speed_up_over_dense").is_null()) << "a bound from the other side";
}

TEST(ReportRows, ATargetCountsWhenItIsHeldForTheRunsOwnNumberOfEvaluations) {
  Json record = report_record("topk", 0, 20);  // reaches 0.8 at its last evaluation but one
  record["config"]["hold"] = 2;
  const Json row = rows_of({record})[0];
  EXPECT_EQ(row.at("hold"), 2);
  EXPECT_EQ(row.at("first_touch_s"), 20);
  EXPECT_EQ(row.at("reached"), false);
  EXPECT_TRUE(row.at("time_to_accuracy_s").is_null());
  EXPECT_EQ(row.at("restricted_time_to_accuracy_s"), row.at("train_time_s"));
  EXPECT_THAT(text_report(make_report(std::vector<Json>{record})), testing::HasSubstr("not held"));
  const Json asked = make_report({parsed(record)}, {.hold = 1}).runs[0];
  EXPECT_EQ(asked.at("hold"), 1);
  EXPECT_EQ(asked.at("time_to_accuracy_s"), 20);
}

TEST(ReportRows, ABaselineThatHoldsItsTargetForLongerIsNone) {
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

TEST(ReportRows, TheBytesOfAnIterationThatWasRepeatedCountOnce) {
  Json record = report_record("topk", 0, 20);
  const auto bytes = [&record] {
    return rows_of({record})[0].at("payload_bytes_per_iteration").get<double>();
  };
  EXPECT_DOUBLE_EQ(bytes(), 400000.0 / 9);
  record["restarts"] = {{{"failure", {{"kind", "crash"}, {"message", "worker 1 died"}}},
                         {"after_iteration", 5},
                         {"resumed_after_iteration", 2},
                         {"lost_train_time_s", 1},
                         {"down_time_s", 1}}};
  EXPECT_DOUBLE_EQ(bytes(), 400000.0 / 12);
}

// The run, with this set-up cost.
Json with_set_up(Json record, const Json& pretraining_s, const Json& pruning_s) {
  record["set_up"] = {{"pretraining_s", pretraining_s},
                      {"pretraining_from", pretraining_s.is_null() ? Json(nullptr) : Json("measured")},
                      {"pruning_s", pruning_s}};
  return record;
}

TEST(ReportRows, HasTimesWithSetUp) {
  const Json rows = rows_of({with_set_up(report_record("dense", 0, 80), 4, 0),
                             with_set_up(report_record("fp16", 0, 40), 0, 0),
                             with_set_up(report_record("pactrain", 0.5, 16), 4, 1)});
  EXPECT_EQ(rows[2].at("pretraining_s"), 4);
  EXPECT_EQ(rows[2].at("pruning_s"), 1);
  EXPECT_EQ(rows[2].at("set_up_s"), 5);
  EXPECT_EQ(rows[2].at("time_to_accuracy_s"), 16);
  EXPECT_EQ(rows[2].at("time_to_accuracy_with_set_up_s"), 21);
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_dense"), 5);
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_dense_with_set_up"), 4);
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_fp16_with_set_up"), 40. / 21);
}

TEST(ReportRows, ABoundWithSetUpCountsTheWholeRunAndItsSetUp) {
  const Json rows = rows_of({with_set_up(report_record("dense", 0, std::nullopt), 20, 0),
                             with_set_up(report_record("topk", 0, 20), 4, 0)});
  EXPECT_DOUBLE_EQ(rows[1].at("speed_up_over_dense_with_set_up"), 5);
}

TEST(ReportRows, ASetUpCostThatNobodyKnowsIsNotZero) {
  const Json dense = with_set_up(report_record("dense", 0, 80), 4, 0);
  for (const Json& unknown :
       {with_set_up(report_record("pactrain", 0.5, 16), nullptr, 1),
        with_set_up(report_record("pactrain", 0.5, 16), 4, nullptr), report_record("pactrain", 0.5, 16)}) {
    const Json rows = rows_of({dense, unknown});
    EXPECT_EQ(rows[1].at("time_to_accuracy_s"), 16);
    EXPECT_TRUE(rows[1].at("set_up_s").is_null());
    EXPECT_TRUE(rows[1].at("time_to_accuracy_with_set_up_s").is_null());
    EXPECT_TRUE(rows[1].at("speed_up_over_dense_with_set_up").is_null());
    EXPECT_THAT(text_report(make_report({dense, unknown})), testing::HasSubstr("unknown"));
  }
}

TEST(ReportRows, ASetUpThatAnOlderRecordDidNotNeedIsZero) {
  Json record = report_record("dense", 0, 80);
  record["config"]["pretraining"] = {{"iterations", 0}, {"batch_size", 128}};
  const Json row = rows_of({record})[0];
  EXPECT_EQ(row.at("set_up_s"), 0);
  EXPECT_EQ(row.at("time_to_accuracy_with_set_up_s"), 80);
  record["config"]["weights"] = {{"file", "mine.pt"}};
  EXPECT_TRUE(rows_of({record})[0].at("set_up_s").is_null());
}

// The times of an iteration in the record's replay are 50 ms, for batches of 32.
TEST(ReportRows, APreTrainingOnTheDeviceOfAnOlderReplayFollowsFromItsIterations) {
  Json record = report_record("dense", 0, 80);
  record["mode"] = "replay";
  record["config"]["pretraining"] = {{"iterations", 30}, {"batch_size", 128}};
  record["config"]["training"] = {{"batch_size_per_worker", 32}};
  record["config"]["compute_profile"] = "a40";
  record["replay"] = {{"convergence_run", "0123456789abcdef"},
                      {"compute_profile", nullptr},
                      {"compute_emulation", "sleep"},
                      {"classes", nullptr}};
  EXPECT_DOUBLE_EQ(rows_of({record})[0].at("pretraining_s"), 30 * 4 * 0.05);
  EXPECT_EQ(rows_of({record})[0].at("pretraining_from"), "profile");
  record["config"]["compute_profile"] = {{"device", "a40"}, {"batch_size_per_worker", 64}};
  EXPECT_DOUBLE_EQ(rows_of({record})[0].at("pretraining_s"), 30 * 2 * 0.05);
  record["config"]["compute_profile"] = "measured";
  EXPECT_TRUE(rows_of({record})[0].at("pretraining_s").is_null());
}

TEST(ReportRows, ASpeedUpHasTheWorseVerdictOfBothNetworks) {
  const auto judged = [](Json record, const char* verdict) {
    record["fidelity"]["verdict"] = verdict;
    return record;
  };
  const Json dense = report_record("dense", 0, 80);
  const Json topk = report_record("topk", 0, 20);
  const auto verdict = [](const std::vector<Json>& records) {
    return rows_of(records)[1].at("speed_up_over_dense_fidelity");
  };
  EXPECT_EQ(verdict({dense, topk}), "faithful");
  EXPECT_EQ(verdict({judged(dense, "not judged"), topk}), "not judged");
  EXPECT_EQ(verdict({judged(dense, "degraded"), judged(topk, "not judged")}), "degraded");
  const std::string text = text_report(make_report({judged(dense, "degraded"), topk}));
  EXPECT_THAT(text, testing::HasSubstr("4.00x†"));
  EXPECT_THAT(text, testing::HasSubstr("†: the network of the run, or of its baseline, was degraded."));
  EXPECT_THAT(text_report(make_report({dense, judged(topk, "not judged")})), testing::HasSubstr("4.00x‡"));
  EXPECT_THAT(text_report(make_report({dense, topk})), testing::Not(testing::HasSubstr("†")));
}

TEST(ReportRows, BaselinesAreEqualInAllElse) {
  Json other_seed = report_record("dense", 0, 80);
  other_seed["config"]["seed"] = 2;
  Json failed = report_record("dense", 0, 80);
  failed.update({{"status", "failed"}, {"error", {{"kind", "crash"}, {"message", "it died"}}}});
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

Json with_momentum(Json record, double momentum) {
  record["config"]["optimiser"] = {{"momentum", momentum}};
  return record;
}

TEST(ReportRows, AMethodWithAnOptimiserOfItsOwnHasTheBaselineWithItsOtherLabels) {
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

TEST(ReportRows, AFurtherBaselineIsNamedByItsLabelAndMayDifferInAnything) {
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

TEST(ReportRows, ConvergenceSpeedIsARatioOfIterationsAndHasTheBaselinesWholeRunAsABound) {
  Json never = report_record("dense", 0, std::nullopt);
  never["iterations"] = 30;
  const Json rows = rows_of({never, report_record("topk", 0, 20)});
  EXPECT_DOUBLE_EQ(rows[1].at("convergence_speed_over_dense"), 6);
  EXPECT_EQ(rows[1].at("baseline_dense"), "dense");
}

TEST(ReportRows, KnowsTheLevelsOfTheTargetsMetricAndWhetherItWasPreset) {
  const std::vector<Json> records = {report_record("dense", 0, 80)};
  const Json row = rows_of(records)[0];
  EXPECT_EQ(row.at("target_preset"), true);
  EXPECT_DOUBLE_EQ(row.at("best_level"), 0.8);
  EXPECT_DOUBLE_EQ(row.at("final_level"), 0.79);
  const Json loss = rows_of(records, Target{.metric = Target::Metric::test_loss, .value = 0.3})[0];
  EXPECT_EQ(loss.at("target_preset"), false);
  EXPECT_DOUBLE_EQ(loss.at("best_level"), 1 - 0.8);
  EXPECT_DOUBLE_EQ(loss.at("final_level"), 1 - 0.79);
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

TEST(ReportRows, TheBaselineOfAHookIsDenseInTheSameTrainer) {
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

TEST(ReportRows, AScriptsBaselineHasItsOtherOptions) {
  const Json rows = rows_of({scripted("dense", {{"depth", 1}}, 80), scripted("dense", {{"depth", 2}}, 40),
                             scripted("sketch", {{"depth", 2}}, 20)});
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_dense"), 2);
}

TEST(ReportRows, AScriptsMethodMayHaveOptionsOfItsOwnAsALabel) {
  const Json rows = rows_of({scripted("dense", {{"depth", 1}}, 80), scripted("dense", {{"depth", 2}}, 40),
                             scripted("sketch", {{"depth", 2}, {"ratio", 0.1}}, 20)});
  EXPECT_DOUBLE_EQ(rows[2].at("speed_up_over_dense"), 2);
}

TEST(ReportRows, AScriptIsComparedOnlyWithItself) {
  Json other = scripted("dense", {{"depth", 1}}, 80);
  other["config"]["trainer"]["command"][1] = "other.py";
  Json edited = scripted("dense", {{"depth", 1}}, 80);
  edited["config"]["trainer"]["inputs_hash"] = "01";
  const Json rows = rows_of({report_record("dense", 0, 80), other, edited,
                             scripted("sketch", {{"depth", 1}}, 20), report_record("topk", 0, 20)});
  EXPECT_TRUE(rows[3].at("speed_up_over_dense").is_null());
  EXPECT_DOUBLE_EQ(rows[4].at("speed_up_over_dense"), 4);
}

TEST(ReportRows, HaveTheRecordsWarnings) {
  Json record = report_record("dense", 0, 80);
  EXPECT_EQ(rows_of({record})[0].at("warnings"), Json::array()) << "of an old record";
  record["warnings"] = {"beware"};
  EXPECT_EQ(rows_of({record})[0].at("warnings"), Json({"beware"}));
}

TEST(ReportRows, WarnIfABaselineWasMeasuredElsewhere) {
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
  changed["network_events"] = Json::array({network_event(2.5), network_event(3.5), network_event(nullptr)});
  Json missed = report_record("fp16", 0, 40);
  missed["network_events"] = Json::array({network_event(nullptr)});
  const Json rows = rows_of({changed, missed, report_record("topk", 0, 20)});
  EXPECT_EQ(rows[0].at("link_changes"), 2);
  EXPECT_EQ(rows[1].at("link_changes"), 0);
  EXPECT_EQ(rows[2].at("link_changes"), 0) << "records older than network_events";
}

TEST(ReportRows, ARunThatDidNotCompleteHasNoTimeWhateverItsCurveTouched) {
  Json failed = report_record("topk", 0, 20);
  failed.update({{"status", "failed"}, {"error", {{"kind", "crash"}, {"message", "it died"}}}});
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
