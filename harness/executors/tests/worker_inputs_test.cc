// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/worker_inputs.hh"

#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

// Whatever is measured for a run must be measured as the run's own workers are.
TEST(WorkerInputs, WorkersThatMeasureHaveTheEnvironmentOfThoseThatTrain) {
  thinpipe::Run run;
  run.workers = 2;
  CheckedConfig training;
  training.config = {{"collective", {{"name", "gloo"}}}};
  run.training = std::make_shared<const CheckedConfig>(std::move(training));
  const TemporaryFolder folder;
  WorkerInputs inputs(run, folder.path(), "info");
  const netem::Host host;
  const auto environment = netem::polling_environment();
  EXPECT_EQ(inputs.training(0, host).environment, environment);
  EXPECT_EQ(inputs.replaying(0, host, "trace.json", "profile.json").environment, environment);
  EXPECT_EQ(inputs.profiling(1, host, Seconds(1), "profile.json").environment, environment);
  const std::vector<std::pair<std::string, std::string>> elsewhere = {{"MASTER_PORT", "1"}};
  inputs.use_environment(elsewhere);
  EXPECT_EQ(inputs.training(0, host).environment, elsewhere);
}

}  // namespace
}  // namespace thinpipe
