// SPDX-License-Identifier: Apache-2.0
// thinpipe exec: the environment and output of ranks, their ends, and the report of traffic and fidelity.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

class ExecCommand : public testing::Test {
 protected:
  ~ExecCommand() override { EXPECT_THAT(processes_marked(program_.mark()), IsEmpty()); }

  Program::Ended exec(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"exec", "pair"});
    return program_.run(arguments);
  }
  // Runs a shell script in both hosts of the topology "pair".
  Program::Ended script(const std::string& text) const { return exec({"--", "sh", "-c", text}); }

  // Starts a script, which prints "ready" after its set-up, and waits for this line of both hosts.
  ChildProcess start(const std::string& set_up, const std::string& rest) const {
    ChildProcess process =
        program_.start({"exec", "pair", "--", "sh", "-c", set_up + "; echo ready; " + rest});
    EXPECT_TRUE(eventually(
        [this] {
          const auto lines = lines_of(read_file(program_.folder() / "output"));
          return std::ranges::count(lines, "w0: ready") + std::ranges::count(lines, "w1: ready") == 2;
        },
        30s));
    return process;
  }

  Program program_;
};

TEST_F(ExecCommand, SetsTheEnvironmentOfTorchrunInEveryHost) {
  const auto ended = script(
      "echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, $MASTER_ADDR:$MASTER_PORT, "
      "$GLOO_SOCKET_IFNAME $NCCL_SOCKET_IFNAME $TP_SOCKET_IFNAME, $(hostname) $THINPIPE_HOST");
  EXPECT_EQ(ended.status.code, 0);
  EXPECT_THAT(lines_of(ended.output),
              UnorderedElementsAre("w0: 0 of 2, 0 of 1, 10.77.0.1:29500, eth0 eth0 eth0, w0 w0",
                                   "w1: 1 of 2, 0 of 1, 10.77.0.1:29500, eth0 eth0 eth0, w1 w1"));
}

TEST_F(ExecCommand, KeepsTheUsersThreadsAndSharesTheUsersGpus) {
  ::unsetenv("OMP_NUM_THREADS");
  ::setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
  EXPECT_THAT(lines_of(script("echo $OMP_NUM_THREADS $CUDA_VISIBLE_DEVICES").output),
              UnorderedElementsAre("w0: 1 3", "w1: 1 1"));
  ::setenv("OMP_NUM_THREADS", "5", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_THAT(lines_of(script("echo $OMP_NUM_THREADS [$CUDA_VISIBLE_DEVICES]").output),
              UnorderedElementsAre("w0: 5 []", "w1: 5 []"));
  ::unsetenv("OMP_NUM_THREADS");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(ExecCommand, PreloadsWhatWorkersOfOneMachineNeedAfterTheUsersLibraries) {
  ::setenv("LD_PRELOAD", "libm.so.6", 1);
  const auto ended =
      script("grep -q thinpipe-polling.so /proc/self/maps && echo ${LD_PRELOAD%%/*} and ${LD_PRELOAD##*/}");
  ::unsetenv("LD_PRELOAD");
  EXPECT_THAT(lines_of(ended.output), UnorderedElementsAre("w0: libm.so.6: and thinpipe-polling.so",
                                                           "w1: libm.so.6: and thinpipe-polling.so"));
}

TEST_F(ExecCommand, KeepsStandardOutputAndErrorApart) {
  const auto ended = script("echo out; echo err >&2");
  EXPECT_THAT(lines_of(ended.output), UnorderedElementsAre("w0: out", "w1: out"));
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("w0: err\n"), HasSubstr("w1: err\n"), Not(HasSubstr("out\n"))));
}

TEST_F(ExecCommand, ReadsNothingFromStandardInput) {
  EXPECT_THAT(lines_of(script("cat; echo end").output), UnorderedElementsAre("w0: end", "w1: end"));
}

TEST_F(ExecCommand, PrintsLinesWholeHoweverTheyAreWritten) {
  // Two writers in each host print their lines in small pieces.
  const auto ended =
      exec({"--", "python3", "-c",
            "import os\n"
            "for i in range(300):\n"
            "  for piece in ('a' * 40, 'b' * 40, 'c' * 40 + '\\n'): os.write(1, piece.encode())\n"});
  const std::string line = std::string(40, 'a') + std::string(40, 'b') + std::string(40, 'c');
  const auto lines = lines_of(ended.output);
  EXPECT_EQ(std::ranges::count(lines, "w0: " + line), 300);
  EXPECT_EQ(std::ranges::count(lines, "w1: " + line), 300);
  EXPECT_EQ(lines.size(), 600U);
}

TEST_F(ExecCommand, PrintsALineOfAMegabyteAndOneWithoutAnEnd) {
  const auto ended = exec({"--", "python3", "-c", "print('x' * 1000000); print('no end', end='')"});
  const std::string line(1000000, 'x');
  const auto lines = lines_of(ended.output);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(std::ranges::is_permutation(
      lines, std::vector<std::string>{"w0: " + line, "w1: " + line, "w0: no end", "w1: no end"}));
}

TEST_F(ExecCommand, PrintsEveryStateOfAProgressBar) {
  const auto ended = script(R"(printf '\r 10 %%\r 90 %%\r100 %%\nlast\r\n')");
  const auto lines = lines_of(ended.output);
  std::vector<std::string> first_host;
  std::ranges::copy_if(lines, std::back_inserter(first_host),
                       [](const std::string& line) { return line.starts_with("w0: "); });
  EXPECT_THAT(first_host, ElementsAre("w0:  10 %", "w0:  90 %", "w0: 100 %", "w0: last"));
}

TEST_F(ExecCommand, ReturnsTheCodeOfTheFirstRankThatFails) {
  EXPECT_EQ(script("exit 0").status.code, 0);
  const auto ended = script("[ $RANK = 0 ] && exec sleep 1000; exit 3");
  EXPECT_EQ(ended.status.code, 3);
  EXPECT_THAT(ended.errors, HasSubstr("rank 1 in w1 has failed: exit code 3"));
  const auto killed = script("[ $RANK = 1 ] && exec sleep 1000; kill -KILL $$");
  EXPECT_EQ(killed.status.code, 128 + SIGKILL);
  EXPECT_THAT(killed.errors, HasSubstr("rank 0 in w0 has failed: signal 9 (Killed)"));
}

TEST_F(ExecCommand, EndsTheOtherRanksBySigtermAndThenBySigkill) {
  const auto asked =
      script("[ $RANK = 1 ] && sleep 0.3 && exit 3; trap 'echo asked; exit 5' TERM; sleep 1000 & wait");
  EXPECT_EQ(asked.status.code, 3);
  EXPECT_THAT(lines_of(asked.output), ElementsAre("w0: asked"));
  const auto killed = exec({"--grace", "100 ms", "--", "sh", "-c",
                            "[ $RANK = 1 ] && exit 3; trap '' TERM; while :; do sleep 0.05; done"});
  EXPECT_EQ(killed.status.code, 3);
}

TEST_F(ExecCommand, ACommandThatCannotBeStartedIsReportedOnce) {
  const auto ended = exec({"--", "no-such-program"});
  EXPECT_EQ(ended.status.code, 127);
  EXPECT_THAT(lines_of(ended.errors), ElementsAre(HasSubstr("cannot start no-such-program")));
}

TEST_F(ExecCommand, PassesSignalsOnAndReports) {
  ChildProcess process = start("trap 'echo interrupted; exit 0' INT", "sleep 1000 & wait");
  process.signal(SIGINT);
  const auto ended = program_.finish(std::move(process));
  EXPECT_EQ(ended.status.code, 128 + SIGINT);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("w0: interrupted\n"), HasSubstr("w1: interrupted\n")));
  EXPECT_THAT(ended.errors, HasSubstr("w0->w1"));
}

TEST_F(ExecCommand, ASecondSignalKillsRanksThatStayAfterTheFirst) {
  ChildProcess process = start("trap 'echo heard' TERM", "while :; do sleep 0.05; done");
  process.signal(SIGTERM);
  EXPECT_TRUE(eventually(
      [this] { return read_file(program_.folder() / "output").find("heard") != std::string::npos; }, 30s));
  process.signal(SIGTERM);
  EXPECT_EQ(program_.finish(std::move(process)).status.code, 128 + SIGTERM);
}

TEST_F(ExecCommand, PassesUserSignalsOnWithoutEndingAnything) {
  ChildProcess process = start("trap 'echo saved; exit 0' USR1", "while :; do sleep 0.05; done");
  process.signal(SIGUSR1);
  const auto ended = program_.finish(std::move(process));
  EXPECT_EQ(ended.status.code, 0);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("w0: saved\n"), HasSubstr("w1: saved\n")));
}

TEST_F(ExecCommand, KillingItLeavesNothing) {
  ChildProcess process = start("true", "setsid sleep 1000 & sleep 1000");
  process.signal(SIGKILL);
  program_.finish(std::move(process));
  EXPECT_TRUE(eventually([this] { return processes_marked(program_.mark()).empty(); }, 2s));
}

TEST_F(ExecCommand, EndsProcessesThatRanksLeaveBehind) {
  const auto ended = script("sleep 1000 & echo done");
  EXPECT_EQ(ended.status.code, 0);
  EXPECT_THAT(lines_of(ended.output), UnorderedElementsAre("w0: done", "w1: done"));
}

constexpr const char* transfer = R"(
import os, socket, time
if os.environ["RANK"] == "0":
    server = socket.create_server((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
    peer = server.accept()[0]
    while peer.recv(1 << 16): pass
else:
    while True:
        try:
            peer = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
            break
        except ConnectionRefusedError: time.sleep(0.05)  # each attempt puts a frame on the wire
    peer.sendall(bytes(2000000))
)";

TEST_F(ExecCommand, ReportsTheBytesOfEveryCappedLink) {
  const fs::path file = program_.folder() / "report.json";
  const auto ended =
      exec({"--set", "bottleneck.rate=20 Mbit/s", "--json", file, "--", "python3", "-c", transfer});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("bytes on the wire"), HasSubstr("w1->w0  20 Mbit/s")));
  const Json report = Json::parse(read_file(file));
  EXPECT_EQ(report.at("exit_code"), 0);
  EXPECT_EQ(report.at("command").at(0), "python3");
  EXPECT_EQ(report.at("topology").at("name"), "pair");
  EXPECT_EQ(report.at("ranks").size(), 2U);
  EXPECT_EQ(report.at("ranks").at(1),
            (Json{{"rank", 1}, {"host", "w1"}, {"exit_code", 0}, {"failed_first", false}}));
  const Json& backward = report.at("traffic").at(1);
  EXPECT_EQ(backward.at("link"), "w1->w0");
  EXPECT_EQ(backward.at("rate_bit_per_s"), 20e6);
  const auto bytes = backward.at("wire_bytes").get<double>();
  EXPECT_GE(bytes, 2e6 * 1514 / 1448);
  EXPECT_LE(bytes, 2.05e6 * 1514 / 1448);
  const auto duration_s = report.at("duration_s").get<double>();
  EXPECT_NEAR(backward.at("utilisation").get<double>(), 8 * bytes / 20e6 / duration_s, 1e-6);
  EXPECT_LT(report.at("traffic").at(0).at("wire_bytes").get<double>(), 0.1 * bytes) << "acknowledgements";
  EXPECT_THAT(report.at("fidelity").at("verdict").get<std::string>(), testing::AnyOf("faithful", "degraded"));
  EXPECT_EQ(report.at("fidelity").at("judged_directions"), 2);
  EXPECT_TRUE(report.at("cpu_pressure").contains("network"));
  EXPECT_TRUE(report.at("connections").is_array());
  EXPECT_EQ(report.at("fidelity").at("checks").at(0).at("name"), "shaper w0->w1");
}

TEST_F(ExecCommand, AReportThatCannotBeWrittenIsAFailure) {
  const fs::path folder = program_.folder() / "gone";
  fs::create_directory(folder);
  const auto ended = exec({"--json", folder / "report.json", "--", "rm", "-rf", folder});
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_THAT(ended.errors, HasSubstr(folder.string()));
}

struct WrongExec {
  std::vector<std::string> arguments;
  const char* message;
};

TEST_F(ExecCommand, WrongInputIsAnsweredBeforeAnythingStarts) {
  const std::vector<WrongExec> cases = {
      {{"three-swich", "--", "true"}, "did you mean \"three-switch\""},
      {{"loopback", "--", "true"}, "has no virtual network"},
      {{"pair", "python3", "train.py"}, "a command must follow \"--\""},
      {{"pair"}, "a command must follow \"--\""},
      {{"pair", "--"}, "no command follows"},
      {{"pair", "--set", "bottleneck.rat=1 Gbit/s", "--", "true"}, "did you mean \"bottleneck.rate\""},
      {{"pair", "--json", "no/such/folder.json", "--", "true"}, "does not exist; create it first"},
      {{"pair", "--json", "/dev/stdout", "--", "true"}, "is not a plain file"},
      {{"pair", "--grace", "30", "--", "true"}, "--grace 30"},
      {{"pair", "--grace=-1 s", "--", "true"}, "must be at least 0 s"},
      {{"pair", "--grace", "1e10 s", "--", "true"}, "at most 8760 h"},
      {{}, "topology is required"}};
  for (const WrongExec& wrong : cases) {
    std::vector<std::string> arguments = {"exec"};
    arguments.insert(arguments.end(), wrong.arguments.begin(), wrong.arguments.end());
    const auto ended = program_.run(arguments);
    EXPECT_EQ(ended.status.code, 2) << ended.errors;
    EXPECT_THAT(ended.errors, HasSubstr(wrong.message));
  }
}

TEST_F(ExecCommand, HelpHasExamples) {
  const auto ended = program_.run({"exec", "--help"});
  EXPECT_EQ(ended.status.code, 0);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("Examples:"), HasSubstr("--grace"), HasSubstr("Exit codes:")));
}

}  // namespace
}  // namespace thinpipe
