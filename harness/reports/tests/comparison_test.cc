// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/comparison/comparison.hh"

#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/reports/comparison/formats.hh"
#include "harness/reports/tests/report_record.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Records = std::vector<Json>;

// A run that reaches its target after this time, or never.
Json seeded_run(int seed, std::optional<double> time_s, const std::string& mode = "live") {
  Json record = report_record("topk", 0, time_s);
  record["run_id"] = fmt::format("topk{}{}", seed, mode);
  record["config"]["seed"] = seed;
  record["config"]["hold"] = 1;
  record["labels"]["seed"] = fmt::format("seed {}", seed);
  record["label"] = fmt::format("topk, seed {}", seed);
  record["mode"] = record["config"]["mode"] = mode;
  record["parameters_hash"] = "0123456789abcdef";
  if (mode == "converge") record["fidelity"] = nullptr;
  return record;
}

Records seeded_runs(const std::vector<std::optional<double>>& times_s, const std::string& mode = "live") {
  Records records;
  for (std::size_t i = 0; i < times_s.size(); ++i)
    records.push_back(seeded_run(static_cast<int>(i) + 1, times_s[i], mode));
  return records;
}

Report comparable_report(const Records& records) {
  return make_report(records, wanted_for_comparison());
}

Comparison compared(const Records& a, const Records& b, const std::vector<std::string>& quantities,
                    const ComparisonRule& rule = {}) {
  static std::vector<std::unique_ptr<Report>> kept;  // judgements refer to them
  kept.push_back(std::make_unique<Report>(comparable_report(a)));
  const Report& ours = *kept.back();
  kept.push_back(std::make_unique<Report>(comparable_report(b)));
  return compare(ours, *kept.back(), quantities, rule);
}

// The only judgement, of one quantity at one point.
Judgement judged(const Records& a, const Records& b, const std::string& quantity,
                 const ComparisonRule& rule = {}) {
  const Comparison comparison = compared(a, b, {quantity}, rule);
  EXPECT_EQ(comparison.points.size(), 1);
  if (comparison.points.size() != 1 || comparison.points[0].judgements.size() != 1) {
    ADD_FAILURE() << "not one judgement";
    return {};
  }
  return comparison.points[0].judgements[0];
}

TEST(Comparison, AnIntervalWithinTheToleranceIsReproduced) {
  const Judgement judgement =
      judged(seeded_runs({20, 30, 40}), seeded_runs({20.2, 30.9, 39.6}), "time_to_target");
  EXPECT_EQ(judgement.verdict, Verdict::reproduced) << judgement.reason;
  EXPECT_EQ(judgement.compared, "seeds");
  EXPECT_NEAR(judgement.ratio.at("ci95_low"), 0.99, 1e-9);
  EXPECT_NEAR(judgement.ratio.at("ci95_high"), 1.03, 1e-9);
}

TEST(Comparison, TheOtherWayRoundTheRatioIsTheInverse) {
  const Records one = seeded_runs({20, 30, 40});
  const Records other = seeded_runs({10, 60, 40});
  const Json ratio = judged(one, other, "time_to_target").ratio;
  const Json inverse = judged(other, one, "time_to_target").ratio;
  EXPECT_NEAR(ratio.at("mean"), 1, 1e-12);  // of 0.5, 2 and 1
  EXPECT_NEAR(ratio.at("ci95_low").get<double>() * inverse.at("ci95_high").get<double>(), 1, 1e-12);
}

TEST(Comparison, AnIntervalOutsideDiffersAndOneAcrossIsOpen) {
  EXPECT_EQ(judged(seeded_runs({20, 30, 40}), seeded_runs({22, 33.6, 44}), "time_to_target").verdict,
            Verdict::differs);
  EXPECT_EQ(judged(seeded_runs({20, 30, 40}), seeded_runs({18, 26, 36}), "time_to_target").verdict,
            Verdict::differs);
  const Judgement across = judged(seeded_runs({20, 30, 40}), seeded_runs({20, 33, 40}), "time_to_target");
  EXPECT_EQ(across.verdict, Verdict::cannot_be_judged);
  EXPECT_THAT(across.reason, HasSubstr("crosses the tolerance"));
}

TEST(Comparison, TheToleranceIsTheSameBothWays) {
  // 1 / 1.05 is 0.952.
  EXPECT_EQ(judged(seeded_runs({20, 20, 20}), seeded_runs({19.1, 19.1, 19.1}), "time_to_target").verdict,
            Verdict::reproduced);
  EXPECT_EQ(judged(seeded_runs({20, 20, 20}), seeded_runs({19.0, 19.0, 19.0}), "time_to_target").verdict,
            Verdict::differs);
}

TEST(Comparison, AQuantityMayHaveItsOwnTolerance) {
  const ComparisonRule rule{.tolerance = 0.05, .tolerance_of = {{"time_to_target", 0.2}}};
  EXPECT_EQ(judged(seeded_runs({20, 30, 40}), seeded_runs({22, 33, 44}), "time_to_target", rule).verdict,
            Verdict::reproduced);
}

TEST(Comparison, FewSeedsCannotBeJudged) {
  const Judgement judgement = judged(seeded_runs({20, 30}), seeded_runs({20, 30}), "time_to_target");
  EXPECT_EQ(judgement.verdict, Verdict::cannot_be_judged);
  EXPECT_THAT(judgement.reason, HasSubstr("too few seeds: A has 2, B has 2"));
}

TEST(Comparison, OtherSeedsAreComparedByTheirMeans) {
  Records others = seeded_runs({30, 30, 30});
  for (Json& record : others) {
    record["config"]["seed"] = record["config"]["seed"].get<int>() + 10;
    record["run_id"] = record["run_id"].get<std::string>() + "other";
  }
  const Judgement judgement = judged(seeded_runs({29.9, 30, 30.1}), others, "time_to_target");
  EXPECT_EQ(judgement.compared, "means");
  EXPECT_EQ(judgement.seeds, 0);
  EXPECT_EQ(judgement.verdict, Verdict::reproduced);
  EXPECT_EQ(judged(seeded_runs({25, 30, 35}), others, "time_to_target").verdict, Verdict::cannot_be_judged);
}

TEST(Comparison, DegradedNetworksCannotBeJudgedUnlessAsked) {
  Records degraded = seeded_runs({20, 30, 40});
  degraded[1]["fidelity"]["verdict"] = "degraded";
  const Judgement time = judged(seeded_runs({20, 30, 40}), degraded, "time_to_target");
  EXPECT_EQ(time.verdict, Verdict::cannot_be_judged);
  EXPECT_EQ(time.reason, "B: network degraded in 1 of 3 runs");
  EXPECT_EQ(judged(seeded_runs({20, 30, 40}), degraded, "accuracy").verdict, Verdict::reproduced)
      << "it does not depend on the network";
  EXPECT_EQ(judged(seeded_runs({20, 30, 40}), degraded, "time_to_target", {.despite_network = true}).verdict,
            Verdict::reproduced);
  degraded[1]["fidelity"]["verdict"] = "not judged";
  EXPECT_EQ(judged(degraded, seeded_runs({20, 30, 40}), "iteration_time").reason,
            "A: network not judged in 1 of 3 runs");
}

TEST(Comparison, TargetsThatNobodyReachedCannotBeJudged) {
  const Records never = seeded_runs({std::nullopt, std::nullopt, std::nullopt});
  const Judgement judgement = judged(never, never, "time_to_target");
  EXPECT_EQ(judgement.verdict, Verdict::cannot_be_judged);
  EXPECT_EQ(judgement.reason, "reached on neither side");
}

TEST(Comparison, ATargetThatOneSideMissesDiffersIfTheBoundIsFarOff) {
  const Records never = seeded_runs({std::nullopt, std::nullopt, std::nullopt});  // in 100 s
  const Judgement far = judged(seeded_runs({20, 30, 40}), never, "time_to_target");
  EXPECT_EQ(far.verdict, Verdict::differs);
  EXPECT_EQ(far.compared, "lower bound");
  EXPECT_EQ(judged(never, seeded_runs({20, 30, 40}), "time_to_target").compared, "upper bound");
  const Judgement near = judged(seeded_runs({98, 99, 99}), never, "time_to_target");
  EXPECT_EQ(near.verdict, Verdict::cannot_be_judged);
  EXPECT_EQ(near.reason, "reached by 3 of 3 in A, 0 of 3 in B");
}

// Two folders of results may have records of one run that differ. The first counts.
TEST(Comparison, TwoRecordsOfARunAreOneSeed) {
  const Records once = seeded_runs({20, 30, 40, std::nullopt});
  Records twice = once;
  twice.push_back(seeded_run(1, 21));
  for (const auto& [a, b] : {std::pair(once, twice), std::pair(twice, once)}) {
    const Judgement judgement = judged(a, b, "time_to_target");
    EXPECT_EQ(judgement.reason, "reached by 3 of 4 in A, 3 of 4 in B");
  }
  const Records all = seeded_runs({20, 30, 40});
  Records all_twice = all;
  all_twice.push_back(seeded_run(1, 21));
  const Judgement judgement = judged(all, all_twice, "time_to_target");
  EXPECT_EQ(judgement.verdict, Verdict::reproduced) << judgement.reason;
  EXPECT_EQ(judgement.seeds, 3);
}

TEST(Comparison, EachRecordOfARunIsSeen) {
  const Records good = seeded_runs({20, 30, 40});
  Records twice = good;
  twice.push_back(seeded_run(1, 20));
  twice.back()["fidelity"]["verdict"] = "degraded";
  EXPECT_EQ(judged(good, twice, "time_to_target").reason, "B: network degraded in 1 of 4 runs");
}

TEST(Comparison, TrainingWithoutANetworkIsComparedExactly) {
  const Records one = seeded_runs({20}, "converge");
  EXPECT_EQ(judged(one, one, "accuracy").reason, "identical");
  EXPECT_EQ(judged(one, one, "curve").verdict, Verdict::reproduced);
  Records other = one;
  other[0]["curve"][2]["test_accuracy"] = 0.7;
  const Judgement accuracy = judged(one, other, "accuracy");
  EXPECT_EQ(accuracy.verdict, Verdict::differs);
  EXPECT_EQ(accuracy.reason, "outside with seed 1");
  EXPECT_EQ(judged(one, other, "curve").verdict, Verdict::differs);
  EXPECT_EQ(judged(one, other, "curve", {.tolerance = 0.1}).verdict, Verdict::reproduced);
  EXPECT_EQ(judged(one, seeded_runs({std::nullopt}, "converge"), "iterations_to_target").reason,
            "reached only in A with seed 1");
}

TEST(Comparison, LiveTrainingHasNoExactCurve) {
  const Comparison live_only = compared(seeded_runs({20}), seeded_runs({20}), {"curve"});
  EXPECT_THAT(live_only.points, IsEmpty());
  EXPECT_THAT(live_only.without_quantities, testing::ElementsAre("topk"));
  EXPECT_EQ(live_only.verdict, Verdict::cannot_be_judged);
  Records both = seeded_runs({20});
  both.push_back(seeded_run(1, 20, "converge"));
  const Comparison with_exact_ones = compared(both, both, {"curve"});
  EXPECT_EQ(with_exact_ones.verdict, Verdict::reproduced) << "live points have no curve to judge";
  EXPECT_THAT(with_exact_ones.without_quantities, testing::ElementsAre("topk (live)"));
}

TEST(Comparison, ALossIsAsFarOffBothWays) {
  const auto with_loss = [](double loss) {
    Records records = seeded_runs({20}, "converge");
    for (Json& point : records[0]["curve"]) {
      point["test_accuracy"] = nullptr;
      point["test_loss"] = loss;
    }
    return records;
  };
  EXPECT_EQ(judged(with_loss(1), with_loss(0.951), "curve").verdict, Verdict::differs);
  EXPECT_EQ(judged(with_loss(0.951), with_loss(1), "curve").verdict, Verdict::differs);
  EXPECT_EQ(judged(with_loss(1), with_loss(1.049), "curve").verdict, Verdict::reproduced);
}

TEST(Comparison, PayloadNeedsNoInterval) {
  EXPECT_EQ(judged(seeded_runs({20}), seeded_runs({20}), "payload_bytes").verdict, Verdict::reproduced);
  Records more = seeded_runs({20});
  more[0]["traffic"]["payload_bytes_per_worker"] = 500000;
  EXPECT_EQ(judged(seeded_runs({20}), more, "payload_bytes").verdict, Verdict::differs);
}

TEST(Comparison, AZeroHasNoRatio) {
  Records zero = seeded_runs({20, 30, 40});
  for (Json& record : zero) record["traffic"]["wire_bytes"] = {{"a->b", 0}, {"b->a", 0}};
  EXPECT_EQ(judged(zero, seeded_runs({20, 30, 40}), "wire_bytes").reason, "a value is zero");
  EXPECT_EQ(judged(seeded_runs({20, 30, 40}), zero, "wire_bytes").reason, "a value is zero");
  EXPECT_EQ(judged(zero, zero, "wire_bytes").verdict, Verdict::reproduced);
}

TEST(Comparison, ReplaysHaveNoWireBytesToCompare) {
  const Records replays = seeded_runs({20, 30, 40}, "replay");
  const Comparison comparison = compared(replays, replays, {"wire_bytes"});
  EXPECT_THAT(comparison.points, IsEmpty());
  EXPECT_EQ(comparison.without_quantities.size(), 1);
  EXPECT_EQ(judged(replays, replays, "payload_bytes").verdict, Verdict::reproduced);
}

TEST(Comparison, WeightsAreTheSameOrNot) {
  Records other = seeded_runs({20, 30});
  EXPECT_EQ(judged(seeded_runs({20, 30}), other, "weights").verdict, Verdict::reproduced);
  other[1]["parameters_hash"] = "fedcba9876543210";
  const Judgement judgement = judged(seeded_runs({20, 30}), other, "weights");
  EXPECT_EQ(judgement.verdict, Verdict::differs);
  EXPECT_EQ(judgement.reason, "identical with 1 of 2 seeds");
}

TEST(Comparison, OtherSettingsAreNoReproduction) {
  Records other = seeded_runs({20, 30, 40});
  for (Json& record : other) {
    record["config"]["workers"] = 3;
    record["config"]["later"] = true;
    record["run_id"] = record["run_id"].get<std::string>() + "other";
  }
  const Comparison comparison = compared(seeded_runs({20, 30, 40}), other, {"time_to_target"});
  const ComparedPoint& point = comparison.points.at(0);
  EXPECT_EQ(point.judgements[0].reason, "configurations differ");
  EXPECT_THAT(point.notes, testing::ElementsAre("configurations differ (A, B): /workers: 2, 3",
                                                "settings of one side only: /later: true in B"));
  EXPECT_EQ(
      judged(seeded_runs({20, 30, 40}), other, "time_to_target", {.despite_configuration = true}).verdict,
      Verdict::reproduced);
}

TEST(Comparison, TargetsDecideHowARunIsReadAndNotWhatItIs) {
  Records other = seeded_runs({20, 30, 40});
  for (Json& record : other) {
    record["config"]["targets"] = {0.5, 0.75};
    record["run_id"] = record["run_id"].get<std::string>() + "other";
  }
  EXPECT_EQ(judged(seeded_runs({20, 30, 40}), other, "payload_bytes").verdict, Verdict::reproduced);
  EXPECT_EQ(judged(seeded_runs({20, 30, 40}), other, "time_to_target").reason,
            "targets differ; name one with --target");
}

TEST(Comparison, SettingsThatOneVersionLacksAreOnlyNoted) {
  Records later = seeded_runs({20, 30, 40});
  for (Json& record : later) {
    record["config"]["later"] = true;
    record["run_id"] = record["run_id"].get<std::string>() + "other";
  }
  const Comparison comparison = compared(seeded_runs({20, 30, 40}), later, {"time_to_target"});
  EXPECT_EQ(comparison.verdict, Verdict::reproduced);
  EXPECT_THAT(comparison.points.at(0).notes, testing::SizeIs(1));
}

TEST(Comparison, ANetworkThatDiffersOnOneSideOnlyIsADifference) {
  const auto verdict_with = [](const char* place, const Json& value) {
    Records others = seeded_runs({20, 30, 40});
    for (Json& record : others) {
      record["config"][Json::json_pointer(place)] = value;
      record["run_id"] = record["run_id"].get<std::string>() + "other";
    }
    return judged(seeded_runs({20, 30, 40}), others, "time_to_target").reason;
  };
  EXPECT_EQ(verdict_with("/topology/links/0/delay", "50 ms"), "configurations differ");
  EXPECT_EQ(verdict_with("/cross_traffic/0/rate", "50 Mbit/s"), "configurations differ");
  EXPECT_EQ(verdict_with("/network_events/0/at", 3), "configurations differ");
}

TEST(Comparison, ModesAreNotMixed) {
  EXPECT_EQ(judged(seeded_runs({20}), seeded_runs({20}, "converge"), "accuracy").reason,
            "modes differ: live, converge");
  Records both = seeded_runs({20});
  both.push_back(seeded_run(1, 20, "converge"));
  const Comparison comparison = compared(both, both, {"payload_bytes"});
  ASSERT_EQ(comparison.points.size(), 2);
  EXPECT_EQ(comparison.points[0].name, "topk (live)");
  EXPECT_EQ(comparison.points[1].name, "topk (converge)");
}

TEST(Comparison, ListsPointsOfOneSideOnly) {
  Records more = seeded_runs({20, 30, 40});
  more.push_back(report_record("dense", 0, 80));
  const Comparison comparison = compared(seeded_runs({20, 30, 40}), more, {"time_to_target"});
  EXPECT_THAT(comparison.only_a, IsEmpty());
  EXPECT_THAT(comparison.only_b, testing::ElementsAre("dense (live, 1 run)"));
  EXPECT_EQ(comparison.verdict, Verdict::reproduced);
  EXPECT_EQ(compared({report_record("dense", 0, 80)}, seeded_runs({20}), {"accuracy"}).verdict,
            Verdict::cannot_be_judged)
      << "nothing is in both";
}

TEST(Comparison, RunsThatFailedAreNoted) {
  Records failed = seeded_runs({20, 30, 40, 50});
  failed[3]["status"] = "failed";
  failed[3]["error"] = {{"kind", "hang"}, {"message", "worker 1 hangs"}};
  const Comparison comparison = compared(seeded_runs({20, 30, 40, 50}), failed, {"time_to_target"});
  EXPECT_EQ(comparison.verdict, Verdict::reproduced);
  EXPECT_THAT(comparison.points.at(0).notes, testing::ElementsAre("B: 1 of 4 runs did not complete"));
}

TEST(Comparison, ADifferenceOutweighsWhatCannotBeJudged) {
  EXPECT_EQ(worse(Verdict::cannot_be_judged, Verdict::differs), Verdict::differs);
  EXPECT_EQ(worse(Verdict::reproduced, Verdict::cannot_be_judged), Verdict::cannot_be_judged);
  EXPECT_EQ(worse(Verdict::reproduced, Verdict::reproduced), Verdict::reproduced);
}

TEST(Comparison, IsShownAsTextMarkdownAndJson) {
  const Report a = comparable_report(seeded_runs({20, 30, 40}));
  const Report b = comparable_report(seeded_runs({22, 33.6, 44}));
  const Comparison comparison = compare(a, b, {"time_to_target", "payload_bytes"}, {});
  const std::string text = text_comparison(comparison, {"theirs", &a}, {"ours", &b});
  EXPECT_THAT(text, HasSubstr("Over all: differs (0 of 1 points reproduced, 1 differ, 0 cannot be judged)"));
  EXPECT_THAT(text, HasSubstr("0123456789"));
  EXPECT_THAT(text, HasSubstr("1.107 [1.100, 1.120]"));
  EXPECT_THAT(markdown_comparison(comparison, {"theirs", &a}, {"ours", &b}),
              HasSubstr("| topk | time to target |"));
  const Json json = json_comparison(comparison, {"theirs", &a}, {"ours", &b});
  EXPECT_EQ(json.at("verdict"), "differs");
  EXPECT_EQ(json.at("a").at("results"), "theirs");
  EXPECT_EQ(json.at("points").at(0).at("quantities").at(1).at("verdict"), "reproduced");
}

}  // namespace
}  // namespace thinpipe
