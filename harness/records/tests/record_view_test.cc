#include "harness/records/record_view.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

Json evaluation(int iteration, double train_time_s, const Json& accuracy) {
  return {{"iteration", iteration}, {"train_time_s", train_time_s}, {"test_accuracy", accuracy}};
}

TEST(Targets, AreReachedAtTheFirstEvaluationAtOrAboveThem) {
  const Json curve = {evaluation(0, 0, 0.1),
                      evaluation(20, 5, nullptr),  // no accuracy, because the loss is not finite
                      evaluation(40, 9, 0.8), evaluation(60, 12, 0.7)};
  EXPECT_EQ(reach_targets(curve, {{.value = 0.8}, {.value = 0.9}}),
            Json::parse(R"([{"accuracy": 0.8, "reached": true, "iteration": 40, "train_time_s": 9.0},
                            {"accuracy": 0.9, "reached": false, "iteration": null, "train_time_s": null}])"));
}

TEST(FinalAccuracy, IsThatOfTheLastEvaluation) {
  EXPECT_EQ(final_accuracy({{"curve", Json::array()}}), std::nullopt);
  EXPECT_EQ(final_accuracy({{"curve", {evaluation(0, 0, 0.1), evaluation(20, 5, 0.8)}}}), 0.8);
  EXPECT_EQ(final_accuracy({{"curve", {evaluation(0, 0, 0.1), evaluation(20, 5, nullptr)}}}), std::nullopt);
}

}  // namespace
}  // namespace thinpipe
