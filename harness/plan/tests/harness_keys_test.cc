#include "harness/plan/harness_keys.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/plan/run_reading.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Run read(const Json& harness_part) {
  Topologies topologies(source_path("experiments/e.json"));
  return read_harness_part(harness_part, topologies);
}

std::string refusal(const Json& harness_part) {
  try {
    read(harness_part);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(HarnessKeys, EveryKeyRefusesWrongValuesAtItsPlace) {
  for (const std::string& key : harness_keys()) {
    for (const Json& value : {Json(1.5), Json(true), Json({{"qqqqq", 1}})}) {
      EXPECT_THAT(refusal({{key, value}}), StartsWith(" at /" + key)) << value;
    }
  }
}

TEST(HarnessKeys, DescribedDefaultsAreThoseOfTheReader) {
  for (const Json& entry : describe_harness_keys()) {
    const std::string key = entry.at("key");
    const Json fallback = entry.at("default");
    if (fallback.is_null()) continue;
    Json harness_part = {{key, fallback}};
    if (key == "compute_profile") harness_part["mode"] = "replay";
    Json without = harness_part;
    without.erase(key);
    EXPECT_EQ(read(harness_part).setting->config, read(without).setting->config) << key;
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
