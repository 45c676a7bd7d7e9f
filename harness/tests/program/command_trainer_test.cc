// SPDX-License-Identifier: Apache-2.0
// thinpipe run with a training script as trainer: small scripts without PyTorch.
#include <chrono>
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A script of two workers on the loopback.
class Scripted : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((program_.folder() / file).parent_path());
    std::ofstream(program_.folder() / file) << text;
  }

  static Json base(const Json& trainer, const Json& more = Json::object()) {
    Json out = {{"topology", "loopback"}, {"trainer", trainer}};
    out.update(more);
    return out;
  }

  // Runs the text as train.py.
  Program::Ended run_python(const std::string& text, const Json& trainer = Json::object(),
                            const Json& more = Json::object(), const Json& sweep = Json::object()) const {
    write("train.py", text);
    Json whole = {{"command", {"/usr/bin/python3", "train.py"}}};
    whole.update(trainer);
    return run(base(whole, more), sweep);
  }

  // Runs the text as train.sh.
  Program::Ended run_shell(const std::string& text, const Json& trainer = Json::object(),
                           const std::vector<std::string>& arguments = {}) const {
    write("train.sh", text);
    Json whole = {{"command", {"sh", "train.sh"}}};
    whole.update(trainer);
    return run(base(whole), Json::object(), arguments);
  }

  Program::Ended run(const Json& base, const Json& sweep = Json::object(),
                     const std::vector<std::string>& arguments = {}) const {
    return program_.run(program_.run_arguments(program_.experiment(base, sweep), arguments));
  }

  Json record() const { return program_.record("base"); }
  std::string log_of(std::int64_t rank) const {
    return read_file(program_.results() / "test" / record().at("run_id").get<std::string>() /
                     fmt::format("worker-{}.log", rank));
  }
  std::string failure() const {
    const Json error = record().at("error");
    return fmt::format("{}: {}", error.at("kind").get<std::string>(), error.at("message").get<std::string>());
  }

  const Program program_;
};

TEST_F(Scripted, TheCurveIsWhatItReports) {
  const auto ended = run_python(R"(
import thinpipe
print("hello from", __file__)
thinpipe.report(iteration=0, test_accuracy=0.1)
for i in range(1, 5):
    thinpipe.report(iteration=i, train_loss=1 / i, payload_bytes=100, lr=0.5)
    if i % 2 == 0:
        thinpipe.report(iteration=i, test_accuracy=0.2 * i, test_loss=float("nan"))
)",
                                {{"method", "sketch"}}, {{"targets", {0.8}}});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json record = this->record();
  EXPECT_EQ(record.at("status"), "completed");
  EXPECT_EQ(record.at("iterations"), 4);
  EXPECT_EQ(record.at("config").at("trainer").at("method"), "sketch");
  EXPECT_EQ(record.at("traffic").at("payload_bytes_per_worker"), 400);
  EXPECT_THAT(record.at("provenance").at("libraries").at("python").get<std::string>(), HasSubstr("3."));
  const Json& curve = record.at("curve");
  ASSERT_EQ(curve.size(), 3);
  EXPECT_EQ(curve[0].at("train_time_s"), 0);
  EXPECT_EQ(curve[2].at("iteration"), 4);
  EXPECT_EQ(curve[2].at("test_accuracy"), 0.8);
  EXPECT_TRUE(curve[2].at("test_loss").is_null());
  EXPECT_EQ(curve[2].at("train_loss"), 0.25);
  EXPECT_EQ(record.at("targets").at(0).at("train_time_s"), curve[2].at("train_time_s"));
  EXPECT_GT(record.at("train_time_s"), 0);
  EXPECT_GT(record.at("iteration_time_s").at("mean"), 0);
  EXPECT_THAT(record.at("warnings"), IsEmpty());
  EXPECT_THAT(log_of(0), HasSubstr("hello from"));
  EXPECT_THAT(log_of(1), HasSubstr("hello from"));
  EXPECT_THAT(ended.output, HasSubstr("0.8000"));
}

TEST_F(Scripted, TheCurveIsFoundInItsOutput) {
  const auto ended = run_shell(R"(
echo "starting with $RANK of $WORLD_SIZE"
[ $RANK = 0 ] || exit 0
printf 'step 0\racc 10 %%\n'
echo 'step 20: train 1.5' >&2
echo 'acc 0.5'
)",
                               {{"curve",
                                 {{"iteration", "step ([0-9]+)"},
                                  {"train_loss", "train ([0-9.]+)"},
                                  {"test_accuracy", "acc ([0-9.]+)"}}}});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json curve = record().at("curve");
  ASSERT_EQ(curve.size(), 2);
  EXPECT_EQ(curve[0].at("test_accuracy"), 0.1);
  EXPECT_EQ(curve[0].at("train_time_s"), 0);
  EXPECT_EQ(curve[1].at("iteration"), 20);
  EXPECT_EQ(curve[1].at("train_loss"), 1.5);
  EXPECT_THAT(log_of(0), HasSubstr("starting with 0 of 2\nstep 0\racc 10 %\n"));
  EXPECT_THAT(log_of(1), HasSubstr("starting with 1 of 2"));
}

TEST_F(Scripted, WithoutAnyReportOnlyTheTimeIsKnown) {
  const auto ended = run_shell("sleep 0.1");
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json record = this->record();
  EXPECT_EQ(record.at("iterations"), 0);
  EXPECT_THAT(record.at("curve"), IsEmpty());
  EXPECT_GE(record.at("train_time_s"), 0.1);
  EXPECT_TRUE(record.at("iteration_time_s").is_null());
}

// Without a report of its start, all of the script's traffic counts, but not that of the probes before it.
TEST_F(Scripted, WithoutTrafficHasNoWireBytes) {
  write("train.sh", "sleep 0.2");
  const auto ended =
      run({{"topology", "three-switch"}, {"workers", 3}, {"trainer", {{"command", {"sh", "train.sh"}}}}});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json traffic = record().at("traffic");
  for (const auto& [direction, bytes] : traffic.at("wire_bytes").items())
    EXPECT_LT(bytes, 10'000) << direction;
}

TEST_F(Scripted, OptionsAreSweptSubstitutedAndPassedOn) {
  const Json trainer = {{"command", {"/usr/bin/python3", "train.py", "--lr", "{lr}", "--method={method}"}},
                        {"options", {{"lr", 0.1}, {"layers", {1, 2}}}},
                        {"method", "dense"}};
  const auto ended = run_python(R"(
import os, sys, thinpipe
print(sys.argv[1:], thinpipe.options(), thinpipe.option("none", 3), os.environ["THINPIPE_SEED"], os.getcwd())
)",
                                trainer, {{"seed", 5}}, {{"trainer.options.lr", {0.1, 0.01}}});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json record = program_.record("0.01");
  const std::string log =
      read_file(program_.results() / "test" / record.at("run_id").get<std::string>() / "worker-1.log");
  EXPECT_EQ(log, fmt::format("['--lr', '0.01', '--method=dense'] {{'layers': [1, 2], 'lr': 0.01}} 3 5 {}\n",
                             program_.folder().string()));
  EXPECT_NE(program_.record("0.1").at("run_id"), record.at("run_id"));
}

TEST_F(Scripted, AFinishedSweepIsNotRepeatedUnlessAModuleChanges) {
  write("model.py", "layers = 3");
  const std::string script = "import model";
  ASSERT_EQ(run_python(script).status.code, 0);
  EXPECT_THAT(run_python(script).errors, HasSubstr("completed earlier"));
  write("model.py", "layers = 4");
  const auto ended = run_python(script);
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, Not(HasSubstr("completed earlier")));
  EXPECT_EQ(load_records(program_.results()).size(), 2);
}

TEST_F(Scripted, AFailureLeavesTheLastLinesInTheRecord) {
  const auto ended = run_python(R"(
import os
print("fine so far")
if os.environ["RANK"] == "1":
    raise ValueError("out of ideas")
import time; time.sleep(60)
)");
  EXPECT_EQ(ended.status.code, 1);
  const Json error = record().at("error");
  EXPECT_EQ(error.at("kind"), "crash");
  EXPECT_EQ(error.at("message"), "ended with exit code 1");
  EXPECT_THAT(error.at("log_tail"), Contains("ValueError: out of ideas"));
  EXPECT_THAT(ended.errors, HasSubstr("ValueError: out of ideas"));
}

TEST_F(Scripted, AProgramThatIsMissingIsNamed) {
  write("train.py", "");
  const auto ended = run(base({{"command", {"no-such-python", "train.py"}}}));
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_THAT(failure(), AllOf(HasSubstr("start: "), HasSubstr("no-such-python")));
}

TEST_F(Scripted, AHangingScriptIsGivenUpWithItsChildren) {
  const auto ended =
      run_shell("sleep 1000 & echo waiting; sleep 1000", Json::object(), {"--stall-timeout", "1 s"});
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_EQ(failure(), "stall: no worker printed or reported anything for 1 s");
  EXPECT_THAT(record().at("error").at("log_tail"), ElementsAre("waiting"));
  EXPECT_TRUE(
      eventually([this] { return processes_marked(program_.mark()).empty(); }, std::chrono::seconds(5)));
}

TEST_F(Scripted, AProcessThatItLeavesBehindIsKilled) {
  const auto ended = run_shell("sleep 1000 & exit 0");
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_TRUE(
      eventually([this] { return processes_marked(program_.mark()).empty(); }, std::chrono::seconds(5)));
}

TEST_F(Scripted, OutputIsNoProtocol) {
  const auto ended = run_shell(R"(echo '{"event": "failed"}'; head -c 100000 /dev/zero; printf '\377\n')");
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
}

TEST_F(Scripted, GarbageReportsFailTheRun) {
  EXPECT_EQ(run_shell("echo nonsense > $THINPIPE_REPORTS; sleep 60").status.code, 1);
  EXPECT_THAT(failure(), AllOf(HasSubstr("protocol: "), HasSubstr("nonsense")));
  EXPECT_EQ(run_shell("head -c 3000000 /dev/zero > $THINPIPE_REPORTS; sleep 60").status.code, 1);
  EXPECT_EQ(
      run_shell(R"(echo '{"iteration": 5}' > $THINPIPE_REPORTS; echo '{"iteration": 4}' > $THINPIPE_REPORTS
sleep 60)")
          .status.code,
      1);
}

TEST_F(Scripted, PatternsThatMatchNothingAreAWarning) {
  const auto ended =
      run_shell("echo 'Step 1, accuracy 0.5'",
                {{"curve", {{"iteration", "Step ([0-9]+)"}, {"test_accuracy", "Accuracy ([0-9.]+)"}}}});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const std::string warning = "no line of rank 0's output (worker-0.log) matched curve.test_accuracy";
  EXPECT_THAT(record().at("warnings"), ElementsAre(warning));
  EXPECT_THAT(ended.errors, HasSubstr("warning: " + warning));
  EXPECT_THAT(ended.output, HasSubstr("Warning: base: " + warning));
  EXPECT_THAT(program_.run({"report", program_.results()}).output, HasSubstr("Warning: base: " + warning));
}

TEST_F(Scripted, AnInputThatChangesAfterThePlanFailsTheRun) {
  write("first.py", "open('model.py', 'w').write('layers = 4')");
  write("model.py", "layers = 3");
  write("second.py", "import model");
  const auto ended = run(base({{"command", {"/usr/bin/python3", "{script}"}},
                               {"inputs", {"*.py"}},
                               {"options", {{"script", "first.py"}}}}),
                         {{"trainer.options.script", {"first.py", "second.py"}}});
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_EQ(program_.record("first.py").at("status"), "completed");
  EXPECT_THAT(program_.record("second.py").at("error").at("message").get<std::string>(),
              HasSubstr("has changed since the experiment was planned"));
}

TEST_F(Scripted, PythonCodeThatChangesAfterThePlanFailsTheRun) {
  write("train.py", "open('code/model.py', 'w').write('class Net: width = 4')");
  write("code/model.py", "class Net: width = 3");
  const Json first = {{"trainer", {{"command", {"/usr/bin/python3", "train.py"}}, {"inputs", {"train.py"}}}}};
  const auto ended =
      run({{"topology", "loopback"}},
          {{"model", {{"first", first}, {"second", {{"model", {{"name", "code/model.py:Net"}}}}}}}});
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_EQ(program_.record("first").at("status"), "completed");
  EXPECT_THAT(program_.record("second").at("error").at("message").get<std::string>(),
              HasSubstr("the code of /model/name has changed since the experiment was planned"));
}

TEST_F(Scripted, WorkerEventsCountFromTheReportOfTheStart) {
  const Json events = {{"worker_events", {{{"worker", 1}, {"action", "kill"}, {"at", "100 ms"}}}}};
  const std::string wait = "import time; time.sleep(60)\n";
  EXPECT_EQ(run_python("import thinpipe; thinpipe.report(iteration=0)\n" + wait, Json::object(), events)
                .status.code,
            1);
  EXPECT_EQ(failure(), "crash: ended with signal 9 (Killed)");
  fs::remove_all(program_.results());
  EXPECT_EQ(run_python("import thinpipe; thinpipe.report(iteration=1)\n" + wait, Json::object(), events)
                .status.code,
            1);
  EXPECT_THAT(failure(), AllOf(HasSubstr("protocol: "), HasSubstr("thinpipe.report(iteration=0)")));
  fs::remove_all(program_.results());
  EXPECT_EQ(run_python("print('done')", Json::object(), events).status.code, 1);
  EXPECT_THAT(failure(), HasSubstr("ended without a report of iteration 0"));
}

TEST_F(Scripted, IsPlannedWithoutPredictions) {
  write("train.py", "");
  const std::string experiment = program_.experiment(base({{"command", {"python3", "train.py"}}}));
  const auto planned = program_.run({"plan", experiment});
  EXPECT_EQ(planned.status.code, 0) << planned.errors;
  EXPECT_THAT(planned.output, testing::ContainsRegex("base +[0-9a-f]{16} +2 +- +- +- +- +- +- +- +-"));
  const auto crowded = program_.run(program_.run_arguments(experiment, {"--jobs", "2"}));
  EXPECT_EQ(crowded.status.code, 2);
  EXPECT_THAT(crowded.errors, HasSubstr("nothing is known of the command"));
}

TEST_F(Scripted, ItsDenseMethodIsTheBaselineOfItsOwnMethodsOnly) {
  const std::string script = R"(
import thinpipe
thinpipe.report(iteration=0, test_accuracy=0.1)
thinpipe.report(iteration=1, test_accuracy=0.9, train_time_s=thinpipe.option("pause_s"))
)";
  const auto method = [](const char* name, double pause_s) {
    return Json{{"trainer",
                 {{"command", {"/usr/bin/python3", "train.py"}},
                  {"method", name},
                  {"options", {{"pause_s", pause_s}}}}}};
  };
  write("train.py", script);
  const Json ours = {{"synchroniser", {{"name", "fp16"}}}, {"iterations", 4}, {"targets", {0.3}}};
  const auto ended = run(
      {{"topology", "loopback"}, {"targets", {0.8}}, {"hold", 1}},
      {{"method", {{"dense", method("dense", 0.2)}, {"sketch", method("sketch", 0.02)}, {"ours", ours}}}});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const auto report = program_.run({"report", program_.results(), "--json"});
  std::map<std::string, Json> rows;
  const Json parsed = Json::parse(report.output);
  for (const Json& row : parsed.at("runs")) rows[row.at("label")] = row;
  EXPECT_EQ(rows.at("sketch").at("baseline_dense"), rows.at("dense").at("run_id"));
  EXPECT_DOUBLE_EQ(rows.at("sketch").at("speed_up_over_dense"), 10);
  EXPECT_TRUE(rows.at("sketch").at("baseline_fp16").is_null()) << "that of thinpipe-trainer";
  EXPECT_TRUE(rows.at("ours").at("baseline_dense").is_null()) << "that of the script";
}

}  // namespace
}  // namespace thinpipe
