// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/advice.hh"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/advice/advice_table.hh"
#include "harness/advice/assumptions.hh"
#include "harness/plan/bucket_sizes.hh"
#include "harness/plan/prediction.hh"
#include "harness/plan/tests/planning.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string experiment = R"({"base": {"topology": "three-switch"}, "sweep": {"method": {
    "dense": {"synchroniser": {"name": "dense"}},
    "fp16": {"synchroniser": {"name": "fp16"}},
    "topk": {"synchroniser": {"name": "topk", "ratio": 0.1}}}}})";

// Costs in seconds; less than 0: unknown.
std::vector<Candidate> candidates(double topk_cost_s) {
  std::vector<Candidate> out;
  for (const Run& run : plan(experiment)) {
    Candidate candidate{.method = run.label, .run = run, .codec = CodecTime{}};
    if (run.label == "topk") {
      candidate.codec = topk_cost_s < 0 ? std::nullopt : std::optional(CodecTime{.encode_s = topk_cost_s});
    }
    out.push_back(std::move(candidate));
  }
  return out;
}

constexpr double given_compute_s = 50e-6;
const std::vector<double> caps = {1e7, 1e8, 1e9, 1e10};

Json topk_of(double cost_s) {
  return advise(candidates(cost_s), given_compute_s, caps).at("methods").at(2);
}

TEST(Advise, PredictsAsThePlanDoes) {
  const auto runs = plan(experiment);
  const Json advice = advise(candidates(0), given_compute_s, caps);
  ASSERT_EQ(advice.at("methods").size(), 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& method = advice.at("methods").at(i);
    const auto& run = runs[i];
    EXPECT_EQ(method.at("iteration_time_s"), *predict_iteration_s(run, {.compute_s = given_compute_s}));
    EXPECT_EQ(method.at("iteration_time_s"), method.at("iteration_time_by_rate_s").at(1)) << "at 100 Mbit/s";
    EXPECT_EQ(method.at("payload_bytes_per_iteration"), run.training->plan.at("payload_bytes_per_iteration"));
  }
  EXPECT_EQ(advice.at("methods").at(0).at("speed_up_over_dense"), 1);
}

TEST(Advise, AMethodPaysOffBelowTheCapAtWhichItsCostIsTheTimeItSaves) {
  const Json method = topk_of(30e-6);
  const double cap = method.at("pays_off_over_dense").at("to_bit_per_s");
  const auto all = candidates(30e-6);
  EXPECT_NEAR(
      predict_iteration_s(all[0], given_compute_s, cap) / predict_iteration_s(all[2], given_compute_s, cap),
      1.05, 1e-5);
  EXPECT_GT(method.at("speed_up_over_dense"), 1.05) << "100 Mbit/s is below";
  EXPECT_LT(cap, 1e9);
  const double without_cost = topk_of(0).at("pays_off_over_dense").at("to_bit_per_s");
  EXPECT_GT(without_cost, cap);
}

TEST(Advise, OnlyUndisturbedLiveTrainingIsPredicted) {
  const auto is_predicted = [](Json base) {
    if (base.value("mode", "") != "converge") base["topology"] = "three-switch";
    return can_predict(plan(Json{{"base", base}}.dump()).front());
  };
  EXPECT_TRUE(is_predicted({{"mode", "live"}}));
  EXPECT_FALSE(is_predicted({{"mode", "converge"}}));
  EXPECT_FALSE(
      is_predicted({{"network_events", {{{"at", "1 s"}, {"link", "middle-right"}, {"rate", "1 Mbit/s"}}}}}));
  EXPECT_FALSE(is_predicted({{"cross_traffic", {{{"from", "w0"}, {"to", "w7"}, {"rate", "50 Mbit/s"}}}}}));
  EXPECT_FALSE(is_predicted({{"worker_events", {{{"worker", 1}, {"slowdown", 3}}}}}));
}

TEST(Advise, AMethodThatCostsMoreThanItSavesNeverPaysOff) {
  EXPECT_TRUE(topk_of(1).at("pays_off_over_dense").is_null());
  EXPECT_EQ(topk_of(1).at("caps_over_dense"), "never");
}

// What the command adds.
std::string table_of(double topk_cost_s) {
  Json advice = advise(candidates(topk_cost_s), given_compute_s, caps);
  advice.update({{"model", "m"},
                 {"parameters", 100},
                 {"workers", 8},
                 {"topology", "three-switch"},
                 {"caps", {"100 Mbit/s"}},
                 {"compute_time_s", given_compute_s},
                 {"compute_is_measured", false},
                 {"encode_decode_from", "a CPU"},
                 {"assumptions", {"Accuracy is not predicted."}}});
  return format_advice(advice);
}

TEST(FormatAdvice, SaysForWhatItHoldsAndWhatItAssumes) {
  EXPECT_THAT(table_of(30e-6),
              AllOf(HasSubstr("model m: 100 parameters, 8 workers, topology three-switch at 100 Mbit/s"),
                    HasSubstr("below "), HasSubstr("from 10 Mbit/s to 10 Gbit/s"),
                    HasSubstr("Accuracy is not predicted."), Not(HasSubstr("(?)"))));
}

TEST(FormatAdvice, AMethodOfUnknownCostIsNotFree) {
  EXPECT_THAT(table_of(-1), AllOf(HasSubstr("unknown"), HasSubstr("> "), HasSubstr("< "), HasSubstr("(?)")));
}

TEST(Assumptions, NameWhatIsUnknownOrLeftOut) {
  const auto has = [](const std::vector<std::string>& lines, const std::string& text) {
    return std::ranges::any_of(
        lines, [&text](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  const auto without_costs = assumptions(candidates(-1), {}, true);
  EXPECT_TRUE(has(without_costs, "left out"));
  EXPECT_TRUE(has(without_costs, "square matrices of 1024 x 1024"));
  EXPECT_FALSE(has(without_costs, "Unknown encode+decode")) << "all are left out";
  EXPECT_TRUE(has(without_costs, "Accuracy is not predicted"));
  const double latency_s = 2 * min_bucket_s(candidates(0).front().run);  // of two buckets
  EXPECT_TRUE(has(without_costs, fmt::format("up to {:.1f} ms per iteration of dense", 1000 * latency_s)));
}

}  // namespace
}  // namespace thinpipe
