#include "harness/plan/controller_options.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/plan/run_config.hh"

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
  EXPECT_TRUE(simulated("a40").setting->content.contains("/compute_profile"));
  EXPECT_TRUE(simulated({{"device", "a40"}}).setting->content.contains("/compute_profile/device"));
  EXPECT_EQ(read({{"on_worker_failure", "restart"}}).setting->config,
            read({{"on_worker_failure", {{"action", "restart"}}}}).setting->config);
}

TEST(HarnessKeys, ABatchSizeIsForEstimates) {
  EXPECT_THAT(
      refusal({{"mode", "simulate"},
               {"compute_profile", {{"device", "measured"}, {"batch_size_per_worker", 4}}}}),
      AllOf(StartsWith(" at /compute_profile/batch_size_per_worker"), HasSubstr("works only for estimates")));
}

}  // namespace
}  // namespace thinpipe
