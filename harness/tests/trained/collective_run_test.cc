// SPDX-License-Identifier: Apache-2.0
// Runs over the network with each collective: the bytes on the links, compared with plans and simulations.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/records/record.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

// Eight workers on three switches, and six steps of two megabytes, so that acknowledgements and evaluations
// are negligible.
Json small_training(const char* mode) {
  return {{"mode", mode},
          {"model", {{"name", "mlp"}, {"hidden", Json::array({640})}}},
          {"dataset", {{"name", "synthetic"}, {"train_examples", 384}, {"test_examples", 50}}},
          {"training", {{"batch_size_per_worker", 8}, {"evaluate_every_iterations", 6}}},
          {"targets", {0.999}}};
}

// Returns records by the collective's name.
std::map<std::string, Json> records_of(const Json& training) {
  const Program program(built_program("thinpipe-trainer"));
  const Json sweep = {{"collective.name", {"gloo", "ring", "island", "auto"}}};
  const auto result = program.run(program.run_arguments(program.experiment(training, sweep), {}));
  EXPECT_EQ(result.status.code, 0) << result.errors;
  std::map<std::string, Json> out;
  for (Json& record : load_records(program.results())) {
    if (record.at("mode") != training.at("mode")) continue;
    const std::string name = record.at("config").at("collective").at("name");
    out[name] = std::move(record);
  }
  return out;
}

TEST(CollectiveRun, ATreeCrossesEachBottleneckOnceAndARingAlmostTwice) {
  const std::map<std::string, Json> live = records_of(small_training("live"));
  ASSERT_EQ(live.size(), 4U);
  for (const char* direction : {"left->middle", "middle->left", "middle->right", "right->middle"}) {
    const auto bytes = [&](const char* name) {
      return live.at(name).at("traffic").at("wire_bytes").at(direction).get<double>();
    };
    EXPECT_NEAR(bytes("ring") / bytes("gloo"), 1, 0.1) << direction;
    EXPECT_NEAR(bytes("island") / bytes("ring"), 4.0 / 7, 0.1) << direction;
    EXPECT_NEAR(bytes("auto") / bytes("island"), 1, 0.1) << direction;
  }
  const auto predicted_s = [&](const char* name) {
    return live.at(name).at("predicted").at("exchange_time_s").get<double>();
  };
  EXPECT_DOUBLE_EQ(predicted_s("island"), predicted_s("ring") * 4 / 7);
  EXPECT_EQ(live.at("auto").at("plan").at("collective"), "island");
}

TEST(CollectiveRun, SimulationsGoAlongTheTreeToo) {
  Json training = small_training("simulate");
  training["compute_profile"] = "a40";
  const std::map<std::string, Json> simulated = records_of(training);
  ASSERT_EQ(simulated.size(), 4U);
  const auto exchange_s = [&](const char* name) {
    return simulated.at(name).at("iteration_time_s").at("exchange").get<double>();
  };
  // The two move the same bytes around a ring, in pieces of different sizes and with or without notices.
  EXPECT_NEAR(exchange_s("ring"), exchange_s("gloo"), 0.02 * exchange_s("gloo"));
  EXPECT_DOUBLE_EQ(exchange_s("auto"), exchange_s("island"));
  EXPECT_LT(exchange_s("island"), 0.75 * exchange_s("ring"));
}

}  // namespace
}  // namespace thinpipe
