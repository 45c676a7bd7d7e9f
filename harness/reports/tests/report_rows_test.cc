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

TEST(ReportRows, HaveTheRecordsWarnings) {
  Json record = report_record("dense", 0, 80);
  EXPECT_EQ(rows_of({record})[0].at("warnings"), Json::array()) << "of an old record";
  record["warnings"] = {"beware"};
  EXPECT_EQ(rows_of({record})[0].at("warnings"), Json({"beware"}));
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

// Its links carry a few iterations, and its other totals are those of the whole run.
TEST(ReportRows, AReplayHasNoWireBytes) {
  Json replay = report_record("dense", 0, 80);
  replay["mode"] = "replay";
  const Json row = rows_of({replay})[0];
  EXPECT_TRUE(row.at("bottleneck_wire_bytes").is_null());
  EXPECT_TRUE(row.at("wire_over_sent").is_null());
  EXPECT_EQ(row.at("bottleneck_direction"), "b->a");
  EXPECT_DOUBLE_EQ(row.at("bottleneck_utilisation"), 0.75);
  EXPECT_EQ(row.at("sent_bytes_per_worker"), 1000000);
  EXPECT_THAT(text_report(make_report({parsed(replay)})), testing::Not(testing::HasSubstr("1.06 MB")));
  EXPECT_THAT(text_report(make_report({parsed(report_record("dense", 0, 80))})),
              testing::HasSubstr("1.06 MB"));
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
