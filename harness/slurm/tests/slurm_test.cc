// SPDX-License-Identifier: Apache-2.0
#include "harness/slurm/slurm.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Slurm, ReadsTheTasksOfArrays) {
  const auto tasks = parse_tasks("a|17|0|RUNNING|n3|None\na|17|1|PENDING||Resources\n");
  EXPECT_THAT(tasks, ElementsAre(SlurmTask{"a", "17", 0, "RUNNING", "n3", "None"},
                                 SlurmTask{"a", "17", 1, "PENDING", "", "Resources"}));
  EXPECT_THAT(parse_tasks(""), IsEmpty());
  EXPECT_THAT(parse_tasks("a|17|N/A|CANCELLED||Resources\n"),
              IsEmpty());  // tasks cancelled before they began
}

TEST(Slurm, RefusesWhatIsNoTask) {
  for (const char* text : {"a|17|x|RUNNING|n3|None\n", "a|17|0|RUNNING\n", "slurm_load_jobs error\n"})
    EXPECT_THROW(parse_tasks(text), Error) << text;
}

TEST(Slurm, TellsWaitingRunningAndEndedTasks) {
  const auto task = [](const char* state, const char* node) {
    return SlurmTask{.job_name = "a", .job = "1", .index = 0, .state = state, .node = node, .reason = ""};
  };
  for (const char* state : {"PENDING", "REQUEUED", "REQUEUE_HOLD"}) {
    EXPECT_TRUE(is_live(task(state, ""))) << state;
    EXPECT_TRUE(waits(task(state, ""))) << state;
  }
  for (const char* state : {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED"}) {
    EXPECT_TRUE(is_live(task(state, "n1"))) << state;
    EXPECT_FALSE(waits(task(state, "n1"))) << state;
  }
  for (const char* state : {"COMPLETED", "CANCELLED", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"})
    EXPECT_FALSE(is_live(task(state, "n1"))) << state;
}

TEST(Slurm, ReadsTheLimitOnArrays) {
  EXPECT_EQ(parse_max_array_size("LaunchParameters        = (null)\nMaxArraySize            = 1001\nX = 2\n"),
            1001);
  EXPECT_THROW(parse_max_array_size("MaxJobCount = 10000\n"), Error);
  EXPECT_THROW(parse_max_array_size("MaxArraySize\n"), Error);
}

}  // namespace
}  // namespace thinpipe
