// SPDX-License-Identifier: Apache-2.0
// What thinpipe plan measures before it predicts iterations.
#include <string>

#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

int occurrences(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++found;
  return found;
}

TEST(PlannedCosts, AreMeasuredOnceForRunsThatComputeTheSame) {
  const Program program(built_program("thinpipe-trainer"));
  const Json base = {{"mode", "converge"},
                     {"workers", 2},
                     {"model", {{"name", "mlp"}, {"hidden", Json::array()}}},
                     {"dataset", {{"name", "synthetic"}, {"train_examples", 100}, {"test_examples", 10}}}};
  const auto measured = [&](const Json& sweep) {
    const auto ended = program.run({"plan", program.experiment(base, sweep)});
    EXPECT_EQ(ended.status.code, 0) << ended.errors;
    return occurrences(ended.errors, "measuring the compute time of");
  };
  EXPECT_EQ(measured({{"optimiser.learning_rate", {0.1, 0.2}}, {"seed", {1, 2}}}), 1);
  EXPECT_EQ(measured({{"training.batch_size_per_worker", {5, 10}}}), 2);
}

}  // namespace
}  // namespace thinpipe
