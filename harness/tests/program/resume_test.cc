// SPDX-License-Identifier: Apache-2.0
// A second `thinpipe run` on the results of an earlier one.
#include <csignal>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "harness/records/record.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

fs::path record_path(const Program& program, const std::string& label) {
  return program.results() / "test" / program.record(label).at("run_id").get<std::string>() / "run.json";
}

void rewrite(const fs::path& path, const auto& change) {
  Json record = parse_json_file(path);
  change(record);
  write_atomically(path, record_text(record));
}

// Returns the names of the files that are not hidden.
std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& each : fs::directory_iterator(folder)) {
    if (const std::string name = each.path().filename(); !name.starts_with('.')) names.insert(name);
  }
  return names;
}

TEST(Resume, AFailedRunIsKeptUntilItIsAskedForAgain) {
  const Program program;
  const Json faulty = {{"fault", {{"kind", "nan"}}}};
  const std::string experiment =
      program.experiment(loopback, {{"method", {{"faulty", faulty}, {"sound", {{"seed", 2}}}}}});
  ASSERT_EQ(program.run(program.run_arguments(experiment)).status.code, 1);
  const Json faulty_record = program.record("faulty");
  const Json sound_record = program.record("sound");
  const auto kept = program.run(program.run_arguments(experiment));
  EXPECT_EQ(kept.status.code, 1) << "its failure still stands";
  EXPECT_THAT(kept.errors,
              AllOf(HasSubstr("faulty: failed earlier: the loss is not finite; --retry-failed runs it again"),
                    HasSubstr("sound: completed earlier"), Not(HasSubstr("starting"))));
  EXPECT_EQ(program.record("faulty"), faulty_record);
  const auto retried = program.run(program.run_arguments(experiment, {"--retry-failed"}));
  EXPECT_EQ(retried.status.code, 1);
  EXPECT_THAT(retried.errors, AllOf(HasSubstr("FAILED"), HasSubstr("sound: completed earlier")));
  EXPECT_NE(started_at(program.record("faulty")), started_at(faulty_record));
  EXPECT_EQ(program.record("sound"), sound_record);
  ASSERT_EQ(program.run(program.run_arguments(experiment, {"--fresh"})).status.code, 1);
  EXPECT_NE(started_at(program.record("sound")), started_at(sound_record));
}

TEST(Resume, RunsOfAnotherExperimentAreReusedIfTheyAreTheSame) {
  const Program program;
  const std::string others = program.experiment(loopback, {{"seed", {1, 2, 3}}});
  ASSERT_EQ(program.run(program.run_arguments(others)).status.code, 0);
  rewrite(record_path(program, "1"), [](Json& record) { record["experiment"] = "other"; });
  rewrite(record_path(program, "2"), [](Json& record) {
    record["fidelity"] = {{"verdict", "degraded"}, {"checks", Json::array()}};
  });
  const Json first = program.record("1");
  const Json second = program.record("2");
  const auto id = first.at("run_id").get<std::string>();
  const std::string from = program.results() / "other";
  fs::rename(program.results() / "test", from);

  const std::string experiment = program.experiment(
      loopback, {{"run", {{"one", {{"seed", 1}}}, {"two", {{"seed", 2}}}, {"four", {{"seed", 4}}}}}});
  const auto ended = program.run(program.run_arguments(experiment, {"--reuse", from}));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors,
              AllOf(HasSubstr("1 of 3 runs copied from " + from), HasSubstr("one: completed earlier"),
                    Not(HasSubstr("two: completed earlier")), Not(HasSubstr("four: completed earlier"))));
  Json copied = parse_json_file(program.results() / "test" / id / "run.json");
  EXPECT_EQ(copied.at("experiment"), "test");
  EXPECT_EQ(copied.at("label"), "one");
  EXPECT_EQ(copied.at("labels"), Json({{"run", "one"}}));
  for (const char* key : {"experiment", "label", "labels"}) copied[key] = first.at(key);
  EXPECT_EQ(copied, first);
  EXPECT_EQ(files_in(program.results() / "test" / id), files_in(fs::path(from) / id));
  EXPECT_NE(started_at(parse_json_file(program.results() / "test" / second.at("run_id").get<std::string>() /
                                       "run.json")),
            started_at(second))
      << "its network was degraded";

  const auto again = program.run(program.run_arguments(experiment, {"--reuse", from}));
  EXPECT_THAT(again.errors, AllOf(HasSubstr("two: completed earlier"), Not(HasSubstr("copied"))));
}

TEST(Resume, AKeptRunIsReadWithThePresentHold) {
  const Program program;
  Json base = {{"topology", "loopback"}, {"iterations", 5}, {"targets", {0.1}}, {"hold", 1}};
  ASSERT_EQ(program.run(program.run_arguments(program.experiment(base, {{"seed", {1, 2}}}))).status.code, 0);
  const Json before = program.record("1");
  const auto held = [](const Json& record) { return record.at("targets").at(0).at("held"); };
  EXPECT_EQ(held(before).at("evaluations"), 1);
  EXPECT_EQ(held(before).at("reached"), true);

  base["hold"] = 100;
  const auto again = program.run(program.run_arguments(program.experiment(base, {{"seed", {1, 2}}})));
  EXPECT_THAT(again.errors, AllOf(HasSubstr("2 of 2 runs are kept, and their times"),
                                  HasSubstr("1: completed earlier"), Not(HasSubstr("starting"))));
  const Json after = program.record("1");
  EXPECT_EQ(after.at("config").at("hold"), 100);
  EXPECT_EQ(held(after).at("evaluations"), 100);
  EXPECT_EQ(held(after).at("reached"), false) << "there are fewer evaluations";
  EXPECT_EQ(started_at(after), started_at(before));
  EXPECT_THAT(program.run(program.run_arguments(program.folder() / "experiment.json")).errors,
              Not(HasSubstr("times to the targets")));
}

TEST(Resume, ReuseNamesAFolderWithoutRuns) {
  const Program program;
  const std::string experiment = program.experiment(loopback, {{"seed", {1}}});
  const auto ended = program.run(program.run_arguments(experiment, {"--reuse", "results"}));
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors,
              HasSubstr("--reuse results: has no runs; give the folder of one experiment's results"));
}

TEST(Resume, ADegradedRunIsKeptUntilItIsAskedForAgain) {
  const Program program;
  const std::string experiment = program.experiment(loopback, {{"seed", {1, 2}}});
  ASSERT_EQ(program.run(program.run_arguments(experiment)).status.code, 0);
  rewrite(record_path(program, "1"), [](Json& record) {
    record["fidelity"] = {{"verdict", "degraded"}, {"checks", Json::array()}};
  });
  const Json degraded = program.record("1");
  const Json other = program.record("2");
  ASSERT_EQ(program.run(program.run_arguments(experiment)).status.code, 0);
  EXPECT_EQ(program.record("1"), degraded);
  ASSERT_EQ(program.run(program.run_arguments(experiment, {"--retry-degraded"})).status.code, 0);
  EXPECT_NE(started_at(program.record("1")), started_at(degraded));
  EXPECT_EQ(program.record("2"), other);
}

TEST(Resume, ARequeuedSlurmJobDoesNotRepeatWhatItHasDone) {
  const Program program;
  const Json faulty = {{"fault", {{"kind", "nan"}}}};
  const auto arguments = program.run_arguments(
      program.experiment(loopback, {{"method", {{"faulty", faulty}, {"sound", {{"seed", 2}}}}}}),
      {"--fresh", "--retry-failed"});
  const auto run = [&](const std::string& job, int restarts) {
    const InSlurmJob in(job, restarts);
    EXPECT_EQ(program.run(arguments).status.code, 1);
    return std::pair(program.record("faulty"), program.record("sound"));
  };
  const auto first = run("7", 0);
  EXPECT_EQ(first.second.at("provenance").at("slurm_job"), "7");
  EXPECT_EQ(run("7", 1), first);
  const auto of_another_job = run("8", 1);
  EXPECT_NE(started_at(of_another_job.first), started_at(first.first));
  EXPECT_NE(started_at(of_another_job.second), started_at(first.second));
  const auto asked_again = run("8", 0);
  EXPECT_NE(started_at(asked_again.second), started_at(of_another_job.second))
      << "by a second command of the job";
}

class Stopped : public testing::TestWithParam<int> {};

TEST_P(Stopped, ASweepDoesOnlyWhatIsMissing) {
  const Program program;
  const auto arguments = program.run_arguments(
      program.experiment({{"topology", "loopback"}, {"iterations", 100}}, {{"seed", {1, 2, 3}}}));
  ChildProcess process = program.start(arguments);
  const auto in_the_second = [&program] {
    return read_file(program.folder() / "errors").find("[2/3] 2: starting") != std::string::npos;
  };
  ASSERT_TRUE(eventually(in_the_second, 30s));
  process.signal(GetParam());
  program.finish(std::move(process));
  const Json first = program.record("1");
  ASSERT_EQ(first.at("status"), "completed");
  const auto resumed = program.run(arguments);
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, AllOf(HasSubstr("[1/3] 1: completed earlier"), HasSubstr("[2/3] 2: starting"),
                                    HasSubstr("[3/3] 3: starting")));
  EXPECT_EQ(program.record("1"), first);
  EXPECT_EQ(program.record("2").at("status"), "completed");
  EXPECT_EQ(program.record("3").at("status"), "completed");
}

INSTANTIATE_TEST_SUITE_P(Resume, Stopped, testing::Values(SIGINT, SIGTERM, SIGKILL),
                         [](const auto& tested) { return std::string(::sigabbrev_np(tested.param)); });

TEST(Resume, ARecordOfAnOlderSchemaIsRunAgainAndOneOfANewerRefused) {
  const Program program;
  const auto arguments = program.run_arguments(program.experiment(loopback));
  ASSERT_EQ(program.run(arguments).status.code, 0);
  const fs::path path = record_path(program, "base");
  rewrite(path, [](Json& record) { record["schema_version"] = 0; });
  const auto older = program.run(arguments);
  EXPECT_EQ(older.status.code, 0);
  EXPECT_THAT(older.errors, HasSubstr("base: starting"));
  rewrite(path, [](Json& record) { record["schema_version"] = 99; });
  const std::string newer_text = read_file(path);
  const auto newer = program.run(arguments);
  EXPECT_EQ(newer.status.code, 1);
  EXPECT_THAT(newer.errors,
              AllOf(HasSubstr(path), HasSubstr("schema_version 99"), HasSubstr("update thinpipe")));
  EXPECT_EQ(read_file(path), newer_text) << "a newer record may have content that this program cannot judge";
}

TEST(Resume, WhatAKilledWriterLeftGoesWithTheNextAttempt) {
  const Program program;
  const auto arguments = program.run_arguments(
      program.experiment({{"topology", "loopback"}, {"pretraining", {{"iterations", 1}}}}));
  ASSERT_EQ(program.run(arguments).status.code, 0);
  const Json record = program.record("base");
  const fs::path weights =
      program.results() / "test" / record.at("initial_weights").at("path").get<std::string>();
  const fs::path name = weights.stem();
  const std::vector<fs::path> leftovers = {record_path(program, "base").parent_path() / ".run.json.4711.tmp",
                                           weights.parent_path() / ("." + name.string() + ".pt.4711.tmp"),
                                           weights.parent_path() / ("." + name.string() + ".json.4711.tmp")};
  for (const fs::path& leftover : leftovers) std::ofstream(leftover) << "half a fi";
  auto fresh = arguments;
  fresh.emplace_back("--fresh");
  ASSERT_EQ(program.run(fresh).status.code, 0);
  for (const fs::path& leftover : leftovers) EXPECT_FALSE(fs::exists(leftover)) << leftover;
}

TEST(Resume, AnotherMachinesClockDoesNoHarm) {
  const Program program;
  const std::string experiment = program.experiment(loopback, {{"seed", {1, 2}}});
  const auto arguments = program.run_arguments(experiment);
  ASSERT_EQ(program.run(arguments).status.code, 0);
  const auto distant_future = fs::file_time_type::clock::now() + std::chrono::hours(24 * 365 * 50);
  const fs::path first = record_path(program, "1");
  rewrite(first, [](Json& record) {
    record["provenance"]["started_at"] = record["provenance"]["ended_at"] = "2099-01-01T00:00:00.000Z";
  });
  fs::remove(record_path(program, "2"));
  std::ofstream(first.parent_path() / ".lock") << "process 1 on elsewhere, since 2099-01-01T00:00:00.000Z";
  for (const auto& entry : fs::recursive_directory_iterator(program.results())) {
    fs::last_write_time(entry.path(), distant_future);
  }
  const auto resumed = program.run(arguments);
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, AllOf(HasSubstr("1: completed earlier"), HasSubstr("2: starting")));
  EXPECT_EQ(program.run(program.run_arguments(experiment, {"--fresh"})).status.code, 0);
  EXPECT_LT(started_at(program.record("1")), "2099");
  EXPECT_EQ(program.run({"report", program.results()}).status.code, 0);
}

TEST(Resume, TheDatasContentDecidesAndNotItsPath) {
  const Program program;
  const fs::path here = program.folder() / "here";
  const fs::path there = program.folder() / "there";
  std::ofstream(here) << "one";
  std::ofstream(there) << "one";
  const auto run = [&program](const fs::path& path) {
    return program
        .run(program.run_arguments(
            program.experiment({{"topology", "loopback"}, {"dataset", {{"name", "d"}, {"path", path}}}})))
        .errors;
  };
  EXPECT_THAT(run(here), HasSubstr("starting"));
  EXPECT_EQ(program.record("base").at("provenance").at("dataset_hash"), "hash of one");
  EXPECT_THAT(run(there), HasSubstr("completed earlier"));
  std::ofstream(there) << "two";
  EXPECT_THAT(run(there), HasSubstr("starting"));
}

}  // namespace
}  // namespace thinpipe
