// SPDX-License-Identifier: Apache-2.0
// thinpipe run on the loopback: records, resuming and wrong input.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(RunCommand, LeavesARecordOfEachRunAndPrintsTheTable) {
  const Program program;
  const std::string experiment = program.experiment(
      {{"topology", "loopback"}, {"iterations", 5}, {"targets", {0.3, 0.9}}}, {{"seed", {1, 2}}});
  const auto ended = program.run(program.run_arguments(experiment));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.output, AllOf(HasSubstr("method"), HasSubstr("not reached")));
  const Json record = program.record("1");
  EXPECT_EQ(record.at("schema_version"), 3);
  EXPECT_EQ(record.at("status"), "completed");
  EXPECT_EQ(record.at("curve").size(), 6);
  EXPECT_EQ(record.at("targets").at(0).at("iteration"), 3);
  EXPECT_EQ(record.at("targets").at(1).at("reached"), false);
  EXPECT_EQ(record.at("traffic").at("payload_bytes_per_worker"), 5 * 400);
  EXPECT_EQ(record.at("labels"), Json({{"seed", "1"}}));
  EXPECT_TRUE(record.at("provenance").contains("git_commit"));
  EXPECT_EQ(record.at("provenance").at("libraries"), Json({{"libtorch", "none"}}));
  EXPECT_EQ(record.at("provenance").at("dataset_hash"), "hash of nothing");
  EXPECT_TRUE(record.at("fidelity").is_null());
  EXPECT_THAT(program.written(),
              AllOf(Contains("iterations.jsonl"), Contains("worker-1.log"), Contains("worker-1.json")));
  EXPECT_THAT(processes_marked(program.mark()), IsEmpty());
}

TEST(RunCommand, SuggestsAShippedExperimentForAMistypedName) {
  const Program program;
  const auto ended = program.run({"run", "quikstart"});
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("unknown experiment \"quikstart\""), HasSubstr("\"quickstart\""),
                                  HasSubstr("or give the path of a .json file")));
}

TEST(RunCommand, KeepsTheTimesOfAllWorkersUnlessTheyAreNotWanted) {
  const Program program;
  const std::string experiment = program.experiment({{"topology", "loopback"}, {"iterations", 5}});
  const auto ended = program.run(program.run_arguments(experiment));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const std::string id = program.record("base").at("run_id");
  std::istringstream lines(read_file(program.results() / "test" / id / "workers.jsonl"));
  std::map<std::int64_t, Json> last;  // by rank
  for (std::string line; std::getline(lines, line);) {
    const Json iteration = Json::parse(line);
    last[iteration.at("rank")] = iteration;
  }
  // The other workers of this trainer do not wait until training begins, so their first iterations may be left out.
  ASSERT_EQ(last.count(0), 1U);
  EXPECT_EQ(last[0].at("iteration"), 5);
  EXPECT_EQ(last[0].at("compute_s"), 0.005);
  EXPECT_GT(last[0].at("at_s"), 0);
  EXPECT_LT(last[0].at("at_s"), 60) << "since training began";
  ASSERT_EQ(program.run(program.run_arguments(experiment, {"--no-worker-times", "--fresh"})).status.code, 0);
  EXPECT_THAT(program.written(), Not(Contains("workers.jsonl")));
}

TEST(RunCommand, CompletedRunsAreNotRunAgainUnlessFresh) {
  const Program program;
  const auto arguments = program.run_arguments(program.experiment(loopback));
  ASSERT_EQ(program.run(arguments).status.code, 0);
  const Json first = program.record("base");
  const auto again = program.run(arguments);
  EXPECT_EQ(again.status.code, 0);
  EXPECT_THAT(again.errors, HasSubstr("completed earlier"));
  EXPECT_EQ(program.record("base"), first);
  auto fresh = arguments;
  fresh.emplace_back("--fresh");
  ASSERT_EQ(program.run(fresh).status.code, 0);
  EXPECT_NE(program.record("base").at("provenance").at("started_at"),
            first.at("provenance").at("started_at"));
}

TEST(RunCommand, ATruncatedRecordIsRunAgain) {
  const Program program;
  const auto arguments = program.run_arguments(program.experiment(loopback));
  ASSERT_EQ(program.run(arguments).status.code, 0);
  const std::string id = program.record("base").at("run_id");
  fs::resize_file(program.results() / "test" / id / "run.json", 100);
  EXPECT_EQ(program.run(arguments).status.code, 0);
  EXPECT_EQ(program.record("base").at("status"), "completed");
}

TEST(RunCommand, InitialWeightsAreTrainedOnceForAllThatShareThem) {
  const Program program;
  const Json base = {{"topology", "loopback"}, {"pretraining", {{"iterations", 3}}}};
  ASSERT_EQ(
      program.run(program.run_arguments(program.experiment(base, {{"iterations", {2, 3}}}))).status.code, 0);
  const Json weights = program.record("2").at("initial_weights");
  EXPECT_EQ(weights, program.record("3").at("initial_weights"));
  EXPECT_EQ(weights.at("test_accuracy"), 0.25);
  EXPECT_EQ(read_file(program.results() / "test" / weights.at("path").get<std::string>()), "weights");
  EXPECT_EQ(program.record("2").at("set_up").at("pretraining_s"), 1.5);
}

void for_each_text(const Json& value, const std::function<void(const std::string&)>& action) {
  if (value.is_string()) action(value.get<std::string>());
  if (!value.is_structured()) return;
  for (const Json& member : value) for_each_text(member, action);
}

// Returns the record's texts that have a path of this machine.
std::vector<std::string> local_texts(const Json& record, const Program& program) {
  std::vector<std::string> folders = {program.folder(), fs::current_path(), fs::temp_directory_path()};
  if (const char* const home = std::getenv("HOME")) folders.push_back(std::string(home) + "/");
  std::vector<std::string> found;
  for_each_text(record, [&](const std::string& text) {
    const auto has = [&text](const std::string& folder) { return text.find(folder) != std::string::npos; };
    if (std::ranges::any_of(folders, has)) found.push_back(text);
  });
  return found;
}

// The second run fails with a message that names a file.
TEST(RunCommand, ARecordHasNoPathOfThisMachineAndItsIdDoesNotDependOnOne) {
  const Program here;
  const Program there;
  std::vector<std::string> ids;
  for (const Program* const program : {&here, &there}) {
    std::ofstream(program->folder() / "mine.data") << "examples";
    const Json base = {{"topology", "loopback"},
                       {"pretraining", {{"iterations", 3}}},
                       {"dataset", {{"name", "d"}, {"path", "mine.data"}}}};
    const Json sweep = {{"fault.kind", {"none", "complain"}}};
    const auto ended = program->run(program->run_arguments(program->experiment(base, sweep)));
    EXPECT_THAT(ended.errors, HasSubstr((program->folder() / "mine.data").string())) << "people see the file";
    for (const char* label : {"none", "complain"}) {
      const Json record = program->record(label);
      EXPECT_THAT(local_texts(record, *program), IsEmpty());
      EXPECT_EQ(record.at("config").at("dataset").at("path"), "mine.data");
      ids.push_back(record.at("run_id"));
    }
    EXPECT_EQ(program->record("complain").at("error").at("message"), "cannot read mine.data");
  }
  EXPECT_EQ(ids[0], ids[2]);
  EXPECT_EQ(ids[1], ids[3]);
}

TEST(RunCommand, WrongInputGivesOneMessageAndStartsNothing) {
  const Program program;
  const std::string experiment =
      program.experiment({{"topology", "loopback"}, {"synchroniser", {{"name", "topk"}, {"ratio", 0}}}});
  const auto ended = program.run(program.run_arguments(experiment));
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_EQ(ended.errors, "thinpipe: " + experiment +
                              " at /base/synchroniser/ratio: must be above 0 and at most 1, but is 0\n");
  EXPECT_EQ(ended.output, "");
  EXPECT_FALSE(fs::exists(program.results()));
}

TEST(RunCommand, ADryRunAndAPlanStartNothing) {
  const Program program;
  const std::string experiment = program.experiment(loopback, {{"seed", {1, 2}}});
  EXPECT_EQ(program.run(program.run_arguments(experiment, {"--dry-run"})).status.code, 0);
  const auto planned = program.run({"plan", experiment, "--json", "--only", "2"});
  EXPECT_EQ(planned.status.code, 0);
  const Json rows = Json::parse(planned.output);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].at("config").at("seed"), 2);
  EXPECT_FALSE(fs::exists(program.results()));
}

// However many runs there are, the message is short.
TEST(RunCommand, APatternThatMatchesNoRunIsAnsweredWithTheAxes) {
  const Program program;
  const std::string experiment = program.experiment(
      loopback, {{"seed", {{"from", 1}, {"to", 500}, {"step", 1}}}, {"training.epochs", {1, 2}}});
  const auto ended = program.run({"plan", experiment, "--only", "nothing"});
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(
      ended.errors,
      AllOf(HasSubstr("--only nothing: matches no run; the runs are: "), HasSubstr("; and 988 more\n"),
            HasSubstr("\n  seed: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, and 488 more\n"),
            HasSubstr("\n  training.epochs: 1, 2\n")));
}

TEST(RunCommand, AMissingTrainerIsNamedWithTheRemedy) {
  const Program program("/no/such/trainer");
  const auto ended = program.run(program.run_arguments(program.experiment(loopback)));
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_THAT(ended.errors, HasSubstr("cannot find the worker program /no/such/trainer: build the target"));
}

}  // namespace
}  // namespace thinpipe
