// SPDX-License-Identifier: Apache-2.0
// thinpipe run on the loopback: records, resuming, failures, interruption and wrong input.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

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
using testing::StartsWith;
using namespace std::chrono_literals;

// A sweep whose first run has the fault and whose second has none.
Json faulty_then_sound(const Json& fault) {
  return {{"method", {{"faulty", {{"fault", fault}}}, {"sound", {{"seed", 2}}}}}};
}

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

struct FaultCase {
  const char* name;
  const char* fault;
  std::vector<std::string> arguments;
  const char* kind;
  const char* exit_status;  // null: none
  const char* message;
};

class Faults : public testing::TestWithParam<FaultCase> {};

TEST_P(Faults, MakeAFailedRecordAndTheSweepGoesOn) {
  const FaultCase& expected = GetParam();
  const Program program;
  const Json fault = {{"kind", expected.fault}, {"rank", 1}, {"iteration", 2}};
  const Json base = {{"topology", "loopback"}, {"iterations", 3}};
  const auto arguments =
      program.run_arguments(program.experiment(base, faulty_then_sound(fault)), expected.arguments);
  const auto ended = program.run(arguments);
  EXPECT_EQ(ended.status.code, 1);
  const Json record = program.record("faulty");
  const Json& error = record.at("error");
  EXPECT_EQ(record.at("status"), "failed");
  EXPECT_EQ(error.at("kind"), expected.kind);
  EXPECT_EQ(error.at("rank"), 1);
  EXPECT_EQ(error.at("exit_status"),
            expected.exit_status == nullptr ? Json(nullptr) : Json(expected.exit_status));
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr(expected.message));
  EXPECT_EQ(error.at("log_tail").back(), std::string("about to ") + expected.fault);
  EXPECT_THAT(ended.errors,
              AllOf(HasSubstr("FAILED, worker 1"), HasSubstr(std::string("about to ") + expected.fault)));
  EXPECT_EQ(program.record("sound").at("status"), "completed");
  EXPECT_THAT(processes_marked(program.mark()), IsEmpty());
  EXPECT_THAT(program.run(arguments).errors,
              AllOf(HasSubstr("faulty: failed earlier: "), HasSubstr("sound: completed earlier")));
}

INSTANTIATE_TEST_SUITE_P(
    RunCommand, Faults,
    testing::Values(
        FaultCase{"Crash", "crash", {}, "crash", "signal 11 (Segmentation fault)", "before it had finished"},
        FaultCase{"Exit", "exit", {}, "crash", "exit code 3", "exit code 3"},
        FaultCase{"SilentExit", "silent_exit", {}, "crash", "exit code 0", "before it had finished"},
        FaultCase{"LateExit", "late_exit", {}, "crash", "exit code 3", "after it had finished"},
        FaultCase{"Stop",
                  "stop",
                  {"--hang-timeout", "2 s"},
                  "hang",
                  nullptr,
                  "computing after iteration 1; its process is stopped"},
        FaultCase{"NaN", "nan", {}, "non_finite", "exit code 1", "the loss is not finite"},
        FaultCase{"Garbage", "garbage", {}, "protocol", "exit code 0", "this is not an event"}),
    [](const auto& tested) { return tested.param.name; });

TEST(RunCommand, ARunThatStallsIsGivenUp) {
  const Program program;
  const Json fault = {{"kind", "hang"}, {"rank", 0}, {"iteration", 2}};
  const auto ended = program.run(program.run_arguments(program.experiment(loopback, faulty_then_sound(fault)),
                                                       {"--stall-timeout", "1 s"}));
  EXPECT_EQ(ended.status.code, 1);
  const Json record = program.record("faulty");
  EXPECT_EQ(record.at("error").at("kind"), "stall");
  EXPECT_EQ(record.at("error").at("message"), "no worker reported any progress for 1 s");
  EXPECT_EQ(record.at("limits").at("stall_timeout_s"), 1.0);
  EXPECT_EQ(record.at("curve").size(), 2) << "earlier measurements are kept";
  EXPECT_EQ(program.record("sound").at("status"), "completed");
}

TEST(RunCommand, AFinishedWorkerMayTakeLongToEnd) {
  const Program program;
  const Json base = {{"topology", "loopback"},
                     {"fault", {{"kind", "slow_exit"}, {"rank", 1}, {"iteration", 2}}}};
  const auto ended = program.run(
      program.run_arguments(program.experiment(base, {{"seed", {1}}}), {"--hang-timeout", "1 s"}));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_EQ(program.record("1").at("status"), "completed");
}

TEST(RunCommand, AWorkerThatHasSavedItsCheckpointMayTakeLongToEnd) {
  const Program program;
  const Json base = {{"topology", "loopback"},
                     {"iterations", 100},
                     {"fault", {{"kind", "slow_stop"}, {"rank", 0}, {"iteration", 3}}}};
  ChildProcess run = program.start(
      program.run_arguments(program.experiment(base, {{"seed", {1}}}), {"--hang-timeout", "1 s"}));
  ASSERT_TRUE(eventually(
      [&] {
        return program.run({"status", program.results()}).output.find("iteration 2/") != std::string::npos;
      },
      30s));
  run.signal(SIGTERM);
  const auto ended = program.finish(std::move(run));
  EXPECT_EQ(ended.status.code, 1);
  const Json record = program.record("1");
  EXPECT_EQ(record.at("status"), "interrupted");
  EXPECT_EQ(record.at("checkpoint").at("after_iteration"), 2) << ended.errors;
}

TEST(RunCommand, SaysWhyAWorkerThatWasAskedToStopLeavesNoCheckpoint) {
  const Program program;
  const Json base = {{"topology", "loopback"}, {"iterations", 100000}};
  ChildProcess run = program.start(program.run_arguments(program.experiment(base)));
  ASSERT_TRUE(eventually(
      [&] {
        return program.run({"status", program.results()}).output.find("/100000") != std::string::npos;
      },
      30s));
  run.signal(SIGTERM);  // whose default action ends the workers
  const auto ended = program.finish(std::move(run));
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_THAT(ended.errors, HasSubstr("leaves no checkpoint: ended with signal 15 (Terminated)"));
  const Json record = program.record("base");
  EXPECT_EQ(record.at("status"), "interrupted");
  EXPECT_EQ(record.at("error").at("kind"), "crash");
}

TEST(RunCommand, AnInterruptStopsAtOnceAndLeavesARecord) {
  const Program program;
  const Json base = {{"topology", "loopback"}, {"iterations", 100000}};
  ChildProcess process = program.start(program.run_arguments(program.experiment(base, {{"seed", {1, 2}}})));
  const auto training = [&program] {
    const std::vector<std::string> written = program.written();
    return processes_marked(program.mark()).size() == 3 &&
           std::ranges::count(written, "iterations.jsonl") == 1;
  };
  ASSERT_TRUE(eventually(training, 30s));
  process.signal(SIGINT);
  const auto ended = program.finish(std::move(process));
  EXPECT_EQ(ended.status.code, 1) << ended.status.describe();
  EXPECT_EQ(program.record("1").at("status"), "interrupted");
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("interrupted"), Not(HasSubstr("[2/2]"))));
  EXPECT_THAT(processes_marked(program.mark()), IsEmpty());
}

TEST(RunCommand, GoesOnAfterAHangUpThatIsIgnored) {  // as with nohup
  const Program program;
  const Json base = {{"topology", "loopback"}, {"iterations", 20}, {"iteration_time", "100 ms"}};
  std::signal(SIGHUP, SIG_IGN);  // the program inherits it
  ChildProcess process = program.start(program.run_arguments(program.experiment(base)));
  std::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(eventually([&program] { return processes_marked(program.mark()).size() == 3; }, 30s));
  process.signal(SIGHUP);
  const auto ended = program.finish(std::move(process));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_EQ(program.record("base").at("status"), "completed");
}

TEST(RunCommand, AKilledControllerLeavesNoWorker) {
  const Program program;
  ChildProcess process = program.start(
      program.run_arguments(program.experiment({{"topology", "loopback"}, {"iterations", 100000}})));
  ASSERT_TRUE(eventually([&program] { return processes_marked(program.mark()).size() == 3; }, 30s));
  process.signal(SIGKILL);
  EXPECT_EQ(program.finish(std::move(process)).status.signal, SIGKILL);
  EXPECT_TRUE(eventually([&program] { return processes_marked(program.mark()).empty(); }, 2s));
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

TEST(ReportCommand, PrintsTheTableOrItsNumbers) {
  const Program program;
  ASSERT_EQ(program.run(program.run_arguments(program.experiment(loopback))).status.code, 0);
  EXPECT_THAT(program.run({"report", program.results() / "test"}).output, HasSubstr("method"));
  const auto ended = program.run({"report", program.results(), "--target", "0.2", "--json"});
  EXPECT_DOUBLE_EQ(Json::parse(ended.output).at("runs").at(0).at("target"), 0.2);
  EXPECT_EQ(Json::parse(ended.output).at("groups").at(0).at("runs"), 1);
  EXPECT_EQ(program.run({"report", program.folder() / "missing"}).status.code, 2);
}

TEST(ListCommand, KnowsItsKinds) {
  const Program program;
  EXPECT_THAT(
      program.run({"list", "synchronisers"}).output,
      AllOf(HasSubstr("topk: keeps the largest"), HasSubstr("ratio: kept fraction"), HasSubstr("above 0")));
  EXPECT_TRUE(Json::parse(program.run({"list", "topologies", "--json"}).output).contains("three-switch"));
  const Json settings = Json::parse(program.run({"list", "settings", "--json"}).output);
  EXPECT_EQ(settings["fault"]["options"][1]["key"], "rank");
  EXPECT_FALSE(settings.contains("seed"));  // it is not an object
  const auto wrong = program.run({"list", "synchroniser"});
  EXPECT_EQ(wrong.status.code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("did you mean \"synchronisers\"?"));
}

TEST(CommandLine, HelpSucceedsAndNonsenseIsWrongInput) {
  const Program program;
  for (const std::string command : {"run", "plan", "report", "export", "list", "schema"}) {
    const auto help = program.run({command, "--help"});
    EXPECT_EQ(help.status.code, 0);
    EXPECT_THAT(help.output, HasSubstr("Examples:"));
  }
  const auto mistyped = program.run({"rnu"});
  EXPECT_EQ(mistyped.status.code, 2);
  EXPECT_THAT(mistyped.errors, HasSubstr("thinpipe rnu: unknown command; did you mean \"run\"?"));
  const auto incomplete = program.run({"run"});
  EXPECT_EQ(incomplete.status.code, 2);
  EXPECT_EQ(incomplete.errors,
            "thinpipe run: experiment is required\nthinpipe run --help has all arguments, and examples\n");
  const auto unknown = program.run({"run", "e.json", "--reslts=here"});
  EXPECT_EQ(unknown.status.code, 2);
  EXPECT_THAT(unknown.errors,
              StartsWith("thinpipe run: The following argument was not expected: --reslts=here; "
                         "did you mean --results?\n"));
  const auto alone = program.run({});
  EXPECT_EQ(alone.status.code, 2);
  EXPECT_THAT(alone.errors, HasSubstr("Examples:"));
  EXPECT_EQ(program.run({"run", "/no/such.json"}).status.code, 2);
}

TEST(CommandLine, AWordThatIsNoneOfAnOptionsIsAnsweredWithItsWords) {
  const Program program;
  const auto idle_cores = program.run({"run", "e.json", "--idle-cores", "foo"});
  EXPECT_EQ(idle_cores.status.code, 2);
  EXPECT_THAT(idle_cores.errors, HasSubstr("--idle-cores: foo not in {as-needed,awake,may-sleep}\n"));
  EXPECT_EQ(program.run({"run", "e.json", "--idle-cores", "0"}).status.code, 2) << "a number is no word";
  const auto log_level = program.run({"run", "e.json", "--log-level", "foo"});
  EXPECT_EQ(log_level.status.code, 2);
  EXPECT_THAT(log_level.errors, HasSubstr("--log-level: foo not in {"));
}

TEST(CommandLine, TheWordsOfAnOptionMayBeWrittenInCapitals) {
  const Program program;
  const std::string experiment = program.experiment(loopback);
  EXPECT_EQ(
      program.run(program.run_arguments(experiment, {"--dry-run", "--idle-cores", "AWAKE"})).status.code, 0);
}

}  // namespace
}  // namespace thinpipe
