// SPDX-License-Identifier: Apache-2.0
#include "harness/slurm/submission.hh"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/child_process.hh"
#include "common/support/tests/temporary_folder.hh"
#include "harness/slurm/batch_script.hh"
#include "harness/slurm/tasks_of_runs.hh"

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Submission submission_of(const std::vector<std::string>& ids,
                         const std::string& time = "2026-01-01T00:00:00Z") {
  Submission submission = new_submission("sweep");
  submission.submitted_at = time;
  for (const std::string& id : ids) submission.runs.push_back({.id = id, .label = "run " + id});
  return submission;
}

TEST(Submission, ReadsBackTheOldestFirst) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_submissions(folder.path()), IsEmpty());
  const Submission late = submission_of({"c"}, "2026-01-02T00:00:00Z");
  const Submission early = submission_of({"a", "b"});
  write_submission(folder.path(), late);
  write_submission(folder.path(), early);
  const auto read = read_submissions(folder.path());
  EXPECT_THAT(job_names(read), ElementsAre(early.job_name, late.job_name));
  ASSERT_EQ(read.front().runs.size(), 2U);
  EXPECT_EQ(read.front().runs[1].id, "b");
  EXPECT_EQ(read.front().runs[1].label, "run b");
  remove_submission(folder.path(), early);
  EXPECT_THAT(job_names(read_submissions(folder.path())), ElementsAre(late.job_name));
}

TEST(Submission, ThatPreparesRunsIsNoneOfThem) {
  const TemporaryFolder folder;
  Submission preparing = submission_of({"a"}, "2026-01-02T00:00:00Z");
  preparing.prepares = "weights";
  const Submission runs = submission_of({"a", "b"});
  write_submission(folder.path(), preparing);
  write_submission(folder.path(), runs);
  const auto read = read_submissions(folder.path());
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].prepares, "");
  EXPECT_EQ(read[1].prepares, "weights");
  const auto tasks = tasks_of_runs(
      read, {{.job_name = preparing.job_name, .job = "1", .index = 0, .state = "RUNNING"}}, "/results/sweep");
  EXPECT_EQ(tasks.size(), 2U);
  EXPECT_FALSE(is_live(tasks, "a"));
}

TEST(Submission, ADamagedFileIsNamed) {
  const TemporaryFolder folder;
  write_submission(folder.path(), submission_of({"a"}));
  const auto file = folder.path() / "slurm" / "other.json";
  std::ofstream(file) << R"({"job_name": "other", "submitted_at": "now", "runs": [{"id": "a"}]})";
  try {
    read_submissions(folder.path());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("other.json"));
    EXPECT_THAT(error.what(), HasSubstr("/runs/0: \"label\" is missing"));
  }
}

TEST(TasksOfRuns, TheLastSubmissionOfARunCounts) {
  const Submission first = submission_of({"a", "b"});
  const Submission again = submission_of({"b"}, "2026-01-02T00:00:00Z");
  const auto tasks = tasks_of_runs({first, again},
                                   {{first.job_name, "1", 0, "RUNNING", "n0", "None"},
                                    {first.job_name, "1", 1, "RUNNING", "n1", "None"},
                                    {again.job_name, "2", 0, "COMPLETED", "n2", "None"}},
                                   "/results/sweep");
  EXPECT_TRUE(is_live(tasks, "a"));
  EXPECT_FALSE(is_live(tasks, "b"));
  EXPECT_FALSE(is_live(tasks, "unknown"));
  EXPECT_EQ(tasks.at("b").task.node, "n2");
  EXPECT_EQ(tasks.at("b").log, "/results/sweep/slurm/" + again.job_name + "-0.log");
}

TEST(TasksOfRuns, ARunThatSlurmForgotIsNotLive) {
  const auto tasks = tasks_of_runs({submission_of({"a"})}, {}, "/results/sweep");
  EXPECT_FALSE(is_live(tasks, "a"));
  EXPECT_EQ(tasks.at("a").task.state, "");
}

// The shell is asked what it makes of the script.
TEST(BatchScript, EachTaskExecutesItsRunWithTheWordsAsTheyAre) {
  const std::string odd = "a 'quoted' \"word\" $HOME `id` \\ *\nnext";
  const std::string script = batch_script(submission_of({"aaaa", "bbbb", "cccc"}),
                                          {"/usr/bin/printf", "<%s>", "run", odd}, {.exclusive = true});
  EXPECT_THAT(script, HasSubstr("#SBATCH --array=0-2\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --exclusive\n"));
  const Output output = run_program({"/usr/bin/env", "SLURM_ARRAY_TASK_ID=1", "bash", "-s"}, script);
  EXPECT_TRUE(output.status.ok());
  EXPECT_EQ(output.text, "<run><" + odd + "><--run><bbbb>");
}

TEST(BatchScript, ATaskThatPreparesExecutesNothing) {
  Submission submission = submission_of({"aaaa", "bbbb"});
  submission.prepares = "measurements";
  const std::string script = batch_script(submission, {"/usr/bin/printf", "<%s>", "run"}, {});
  const Output output = run_program({"/usr/bin/env", "SLURM_ARRAY_TASK_ID=1", "bash", "-s"}, script);
  EXPECT_EQ(output.text, "<run><--prepare><measurements><--run><bbbb>");
}

TEST(BatchScript, SharesTheNodeOnlyIfAsked) {
  EXPECT_EQ(batch_script(submission_of({"a"}), {"true"}, {}).find("exclusive"), std::string::npos);
}

TEST(BatchScript, HasANodeForEachWorkerOnMachinesOfTheirOwn) {
  EXPECT_THAT(batch_script(submission_of({"a"}), {"true"}, {}), HasSubstr("#SBATCH --nodes=1\n"));
  EXPECT_THAT(batch_script(submission_of({"a"}), {"true"}, {.nodes = 4}), HasSubstr("#SBATCH --nodes=4\n"));
}

TEST(BatchScript, PathsAreLiteral) {
  const Submission submission = submission_of({"a"});
  EXPECT_THAT(
      sbatch_paths(submission, "/results/50%j", "/a folder"),
      ElementsAre("--chdir=/a folder", "--output=/results/50%%j/slurm/" + submission.job_name + "-%a.log"));
}

}  // namespace
}  // namespace thinpipe
