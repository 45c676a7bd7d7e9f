// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/controller_options.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/atomic_file.hh"
#include "common/support/tests/paths.hh"
#include "harness/plan/run_config.hh"
#include "harness/plan/run_id.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Run read(const Json& controller_part) {
  Topologies topologies(source_path("experiments/e.json"));
  return read_controller_part(controller_part, topologies);
}

std::string refusal(const Json& controller_part) {
  try {
    read(controller_part);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(HarnessKeys, EveryKeyRefusesWrongValuesAtItsPlace) {
  for (const std::string& key : controller_option_keys()) {
    for (const Json& value : {Json(1.5), Json(true), Json({{"qqqqq", 1}})}) {
      EXPECT_THAT(refusal({{key, value}}), StartsWith(" at /" + key)) << value;
    }
  }
}

TEST(HarnessKeys, DescribedDefaultsAreThoseOfTheReader) {
  for (const Json& entry : describe_controller_options()) {
    const std::string key = entry.at("key");
    const Json fallback = entry.at("default");
    if (fallback.is_null()) continue;
    Json controller_part = {{key, fallback}};
    if (key == "compute_profile") controller_part["mode"] = "replay";
    Json without = controller_part;
    without.erase(key);
    EXPECT_EQ(read(controller_part).setting->config, read(without).setting->config) << key;
  }
}

TEST(HarnessKeys, AStringAndAnObjectOfTheSameMeaningAreTheSame) {
  const auto simulated = [](const Json& profile) {
    return read({{"mode", "simulate"}, {"compute_profile", profile}});
  };
  EXPECT_EQ(simulated({{"device", "measured"}}).setting->config, simulated("measured").setting->config);
  EXPECT_EQ(simulated({{"device", "a40"}}).profile, simulated("a40").profile);
  EXPECT_EQ(simulated({{"device", "a40"}}).setting->config, simulated("a40").setting->config);
  EXPECT_EQ(simulated({{"device", "a40"}}).setting->content, simulated("a40").setting->content);
  const Json of_batches = {{"device", "a40"}, {"batch_size_per_worker", 4}};
  EXPECT_TRUE(simulated("a40").setting->content.contains("/compute_profile"));
  EXPECT_TRUE(simulated(of_batches).setting->content.contains("/compute_profile/device"));
  EXPECT_EQ(read({{"on_worker_failure", "restart"}}).setting->config,
            read({{"on_worker_failure", {{"action", "restart"}}}}).setting->config);
}

Json with_machine(const Json& machine) {
  return {{"mode", "simulate"}, {"machine", machine}};
}

TEST(HarnessKeys, OnlyASimulationHasAMachine) {
  EXPECT_FALSE(read({{"mode", "simulate"}}).setting->config.contains("machine"));
  EXPECT_FALSE(read(with_machine(nullptr)).setting->config.contains("machine"));
  EXPECT_EQ(read(with_machine("measured")).setting->config.at("machine"),
            read(with_machine({{"costs", "measured"}, {"cores", nullptr}})).setting->config.at("machine"));
  for (const char* mode : {"live", "replay"}) {
    EXPECT_THAT(refusal({{"mode", mode}, {"machine", "measured"}}),
                AllOf(StartsWith(" at /machine: "), HasSubstr("works only in mode \"simulate\"")));
  }
  EXPECT_THAT(refusal({{"mode", "converge"}, {"machine", "measured"}}), StartsWith(" at /machine: "));
}

TEST(HarnessKeys, AMachineHasMeasuredFreeOrGivenCosts) {
  const auto needs_network = [](const Json& machine) {
    return read({{"mode", "simulate"}, {"machine", machine}, {"compute_profile", "a40"}}).needs_network;
  };
  EXPECT_TRUE(needs_network("measured"));
  EXPECT_FALSE(needs_network({{"costs", "free"}, {"cores", 8}, {"workers_per_machine", 1}}));
  EXPECT_THAT(refusal({{"mode", "simulate"}, {"machine", "measured"}, {"topology", "loopback"}}),
              AllOf(StartsWith(" at /machine: "), HasSubstr("loopback")));
  EXPECT_THAT(refusal(with_machine("none.json")),
              AllOf(StartsWith(" at /machine: "), HasSubstr("does not exist")));
  EXPECT_THAT(refusal(with_machine({{"costs", "none.json"}})), StartsWith(" at /machine/costs: "));
  EXPECT_THAT(refusal(with_machine({{"costs", "free"}, {"cores", 0}})), StartsWith(" at /machine/cores: "));
}

TEST(HarnessKeys, AFileOfCostsCountsByItsContent) {
  const std::string path = testing::TempDir() + "machine.json";
  const Json costs = {{"schema_version", 1},
                      {"cores", 2},
                      {"core_s_per_message", 1e-5},
                      {"core_s_per_byte", 1e-9},
                      {"core_s_per_capped_byte", 4e-9},
                      {"balancing_s", 0}};
  write_atomically(path, costs.dump());
  const thinpipe::Run run = read(with_machine(path));
  EXPECT_EQ(run.machine->costs, path);
  EXPECT_EQ(run.setting->content.at("/machine/costs"), content_hash(costs.dump()));
  write_atomically(path, "{}");
  EXPECT_THAT(refusal(with_machine(path)), HasSubstr("schema_version"));
}

TEST(HarnessKeys, ABatchSizeIsForEstimates) {
  EXPECT_THAT(
      refusal({{"mode", "simulate"},
               {"compute_profile", {{"device", "measured"}, {"batch_size_per_worker", 4}}}}),
      AllOf(StartsWith(" at /compute_profile/batch_size_per_worker"), HasSubstr("works only for estimates")));
}

}  // namespace
}  // namespace thinpipe
