// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/progress.hh"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

// The 900 iterations took 0.3 s; after a failure all are done again.
TEST(Progress, TheRemainingTimeAfterARestartIsThatOfTheIterationsSinceThen) {
  const TemporaryFolder folder;
  Progress progress(1);
  progress.begin(0, "a run", 1000);
  progress.on_event(event::Iteration{.iteration = 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  progress.on_event(event::Iteration{.iteration = 900});
  progress.on_event(event::Iteration{.iteration = 1});
  progress.publish(folder.path() / progress_file_name);
  progress.tick();
  const std::string shown = read_file(folder.path() / progress_file_name);
  EXPECT_THAT(shown, testing::HasSubstr("iteration 1/1000"));
  EXPECT_THAT(shown, testing::AllOf(testing::HasSubstr("ETA"), testing::Not(testing::HasSubstr("min"))));
}

}  // namespace
}  // namespace thinpipe
