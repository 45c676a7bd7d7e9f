// SPDX-License-Identifier: Apache-2.0
#include "harness/run/script/script_warnings.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;

netem::Topology shipped(const std::string& name) {
  return netem::load_topology(source_path("topologies/" + name + ".json"));
}

TEST(WarnOfBypass, ComparesThePayloadWithTheLinksToTheOtherWorkers) {
  const netem::Topology topology = shipped("three-switch");
  const WireBytes wire_bytes = {
      {"left->middle", 600}, {"middle->left", 400}, {"middle->right", 0}, {"right->middle", 0}};
  EXPECT_EQ(warn_of_bypass(topology, 8, wire_bytes, 1000), std::nullopt);
  EXPECT_THAT(warn_of_bypass(topology, 8, wire_bytes, 5000).value(),
              testing::AllOf(HasSubstr("payload of 5.00 kB"), HasSubstr("carried only 1.00 kB")));
}

TEST(WarnOfBypass, JudgesOnlyByLinksWithCounters) {
  const netem::Topology topology = shipped("three-switch");
  const WireBytes nothing = {
      {"left->middle", 0}, {"middle->left", 0}, {"middle->right", 0}, {"right->middle", 0}};
  EXPECT_EQ(warn_of_bypass(topology, 3, nothing, 1000), std::nullopt) << "all behind the same switch";
  EXPECT_NE(warn_of_bypass(topology, 4, nothing, 1000), std::nullopt);
  EXPECT_EQ(warn_of_bypass(topology, 1, nothing, 1000), std::nullopt);
  EXPECT_EQ(warn_of_bypass(topology, 4, nothing, 0), std::nullopt) << "nothing was reported";
  EXPECT_EQ(warn_of_bypass(shipped("loopback"), 2, {}, 1000), std::nullopt);
  const WireBytes restarted = {{"left->middle", {}}, {"middle->left", {}}};
  EXPECT_EQ(warn_of_bypass(topology, 4, restarted, 1000), std::nullopt);
}

Run run_with(const Json& targets) {
  Setting setting;
  setting.topology = shipped("loopback");
  Run run;
  run.workers = 2;
  run.setting = std::make_shared<const Setting>(std::move(setting));
  CheckedConfig training;
  training.config = {{"targets", targets}};
  run.training = std::make_shared<const CheckedConfig>(std::move(training));
  return run;
}

TEST(ScriptWarnings, NamePatternsWithoutAMatchAndTargetsWithoutACurve) {
  ScriptProgress progress({.iteration = "step ([0-9]+)", .test_accuracy = "acc ([0-9.]+)"});
  progress.start(0);
  progress.take_line("step 1", 1);
  EXPECT_THAT(
      script_warnings(run_with({0.5}), progress, {}),
      testing::ElementsAre(HasSubstr("matched curve.test_accuracy"), HasSubstr("no target can be reached")));
  progress.take_line("acc 0.4", 2);
  EXPECT_THAT(script_warnings(run_with({0.5}), progress, {}), testing::IsEmpty());
}

}  // namespace
}  // namespace thinpipe
