// SPDX-License-Identifier: Apache-2.0
// thinpipe shell without a terminal: hosts of commands, their view of the network, and their ends.
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
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

class ShellCommand : public testing::Test {
 protected:
  ~ShellCommand() override { EXPECT_THAT(processes_marked(program_.mark()), IsEmpty()); }

  Program::Ended shell(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"shell", "three-switch"});
    return program_.run(arguments);
  }

  Program program_;
};

TEST_F(ShellCommand, RunsInTheNamedHostOrTheFirst) {
  EXPECT_EQ(shell({"--host", "w3", "--", "hostname"}).output, "w3\n");
  const auto first =
      shell({"--", "sh", "-c", "echo $THINPIPE_HOST of $THINPIPE_TOPOLOGY; ip -brief address"});
  EXPECT_THAT(first.output, AllOf(testing::StartsWith("w0 of three-switch\n"), HasSubstr("10.77.0.1/16")));
}

TEST_F(ShellCommand, PreloadsWhatWorkersOfOneMachineNeed) {
  EXPECT_EQ(shell({"--", "grep", "-om1", "thinpipe-polling.so", "/proc/self/maps"}).output,
            "thinpipe-polling.so\n");
}

TEST_F(ShellCommand, PassesTheExitStatusThrough) {
  EXPECT_EQ(shell({"--", "true"}).status.code, 0);
  EXPECT_EQ(shell({"--", "sh", "-c", "exit 7"}).status.code, 7);
  EXPECT_EQ(shell({"--", "sh", "-c", "kill -9 $$"}).status.code, 128 + SIGKILL);
  const auto missing = shell({"--", "no-such-program"});
  EXPECT_EQ(missing.status.code, 127);
  EXPECT_THAT(missing.errors, HasSubstr("cannot start no-such-program"));
}

TEST_F(ShellCommand, HostsResolveByNameAndNothingOfTheMachineChanges) {
  const std::string hosts = read_file("/etc/hosts");
  const std::string mounts = read_file("/proc/self/mountinfo");
  const auto ended =
      shell({"--host", "w7", "--", "sh", "-c",
             "getent hosts w3; cat /etc/hosts; grep ^hosts: /etc/nsswitch.conf; ls -A /dev/shm"});
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.output,
              AllOf(testing::StartsWith("10.77.0.4       w3\n"), HasSubstr("10.77.0.8\tw7\t# thinpipe\n"),
                    HasSubstr(hosts), testing::EndsWith("\nhosts: files\n")));
  EXPECT_EQ(read_file("/etc/hosts"), hosts);
  EXPECT_EQ(read_file("/proc/self/mountinfo"), mounts);
}

TEST_F(ShellCommand, HostsReachEachOther) {
  // Bash can open TCP connections.
  const auto ended = shell({"--host", "w0", "--", "iperf3", "-s", "-1", "--and", "--host", "w7", "--", "bash",
                            "-c", "exec 3<>/dev/tcp/w0/5201 && echo reached"});
  EXPECT_EQ(ended.output, "reached\n") << ended.errors;
}

TEST_F(ShellCommand, Iperf3SeesTheCap) {
  const auto ended = shell({"--set", "bottleneck.rate=20 Mbit/s", "--host", "w0", "--", "iperf3", "-s",
                            "--and", "--host", "w7", "--", "iperf3", "-c", "w0", "-t", "2", "-J"});
  ASSERT_EQ(ended.status.code, 0) << ended.errors << ended.output;
  const double rate =
      Json::parse(ended.output).at("end").at("sum_received").at("bits_per_second").get<double>();
  EXPECT_LT(rate, 20e6);
  EXPECT_GT(rate, 10e6);
  EXPECT_THAT(ended.errors, HasSubstr("w0: Server listening on 5201"));
}

TEST_F(ShellCommand, Iperf3SeesTheSizeOfPacketsAndTheCongestionControl) {
  const auto ended =
      shell({"--set", "mtu=9000", "--set", "congestion_control=reno", "--host", "w0", "--", "iperf3", "-s",
             "--and", "--host", "w7", "--", "iperf3", "-c", "w0", "-n", "1M", "-J"});
  ASSERT_EQ(ended.status.code, 0) << ended.errors << ended.output;
  const Json told = Json::parse(ended.output);
  EXPECT_EQ(told.at("start").at("tcp_mss_default"), 9000 - 52);
  EXPECT_EQ(told.at("end").at("sender_tcp_congestion"), "reno");
}

TEST_F(ShellCommand, OfSeveralTheFirstToFailDecides) {
  EXPECT_EQ(shell({"--", "sh", "-c", "exit 3", "--and", "--host", "w1", "--", "true"}).status.code, 3);
  EXPECT_EQ(shell({"--", "true", "--and", "--host", "w1", "--", "sh", "-c", "exit 4"}).status.code, 4);
  EXPECT_EQ(
      shell({"--", "sh", "-c", "exit 3", "--and", "--host", "w1", "--", "sh", "-c", "exit 4"}).status.code,
      3);
  EXPECT_EQ(shell({"--", "true", "--and", "--host", "w1", "--", "no-such-program"}).status.code, 127);
}

TEST_F(ShellCommand, WhenTheLastHasEndedTheOthersAreEnded) {
  const auto ended = shell({"--", "sleep", "1000", "--and", "--host", "w1", "--", "true"});
  EXPECT_EQ(ended.status.code, 0) << "a command that is ended has not failed: " << ended.errors;
  // A command that does not end is killed.
  EXPECT_EQ(shell({"--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done", "--and", "--host", "w1",
                   "--", "true"})
                .status.code,
            0);
}

TEST_F(ShellCommand, OutputOfTheOthersStandsBehindTheirHostsOnStandardError) {
  const auto ended = shell({"--", "sh", "-c", "echo one; printf two; echo three >&2", "--and", "--host", "w1",
                            "--", "echo", "mine"});
  EXPECT_EQ(ended.output, "mine\n");
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("w0: one\n"), HasSubstr("w0: twothree\n")));
}

TEST_F(ShellCommand, NestsInANetworkOfItsOwn) {
  const std::string inner = built_program("thinpipe") + " shell three-switch --host w5 -- ";
  const auto ended =
      shell({"--host", "w3", "--", "sh", "-c", inner + "hostname; " + inner + "getent hosts w1; hostname"});
  EXPECT_EQ(ended.output, "w5\n10.77.0.2       w1\nw3\n") << ended.errors;
}

TEST_F(ShellCommand, ASignalToTheProgramEndsTheCommands) {
  ChildProcess process = program_.start({"shell", "three-switch", "--", "sleep", "1000", "--and", "--host",
                                         "w1", "--", "sh", "-c", "echo ready; exec sleep 1000"});
  ASSERT_TRUE(eventually([this] { return read_file(program_.folder() / "output") == "ready\n"; }, 30s));
  process.signal(SIGTERM);
  EXPECT_EQ(program_.finish(std::move(process)).status.code, 128 + SIGTERM);
}

TEST_F(ShellCommand, ASignalIsHeardBesideACommandThatWritesWithoutEnd) {
  ChildProcess process = program_.start({"shell", "three-switch", "--", "yes", "--and", "--host", "w1", "--",
                                         "sh", "-c", "echo ready; exec sleep 1000"});
  ASSERT_TRUE(eventually([this] { return read_file(program_.folder() / "output") == "ready\n"; }, 30s));
  process.signal(SIGTERM);
  EXPECT_EQ(program_.finish(std::move(process)).status.code, 128 + SIGTERM);
}

TEST_F(ShellCommand, KillingItLeavesNothing) {
  ChildProcess process =
      program_.start({"shell", "three-switch", "--", "sh", "-c", "echo ready; setsid sleep 1000"});
  ASSERT_TRUE(eventually([this] { return read_file(program_.folder() / "output") == "ready\n"; }, 30s));
  process.signal(SIGKILL);
  program_.finish(std::move(process));
  EXPECT_TRUE(eventually([this] { return processes_marked(program_.mark()).empty(); }, 2s));
}

// A frame to a host that the switch does not know yet goes to all ports. With too many ports, the kernel
// would lose some of these frames, and the check of the built network would fail.
TEST_F(ShellCommand, ASwitchWithMoreLinksThanTheKernelQueuesFramesIsRefused) {
  const std::size_t backlog = std::stoul(read_file("/proc/sys/net/core/netdev_max_backlog"));
  if (backlog + 3 > 1023)
    GTEST_SKIP() << "this machine's net.core.netdev_max_backlog suffices for any switch";
  const Json star = {{"name", "star"},
                     {"switches", {"s"}},
                     {"hosts", {{"w", backlog + 3}}},
                     {"links", {{{"between", {"w", "s"}}}}}};
  std::ofstream(program_.folder() / "star.json") << star;
  const auto ended = program_.run({"shell", program_.folder() / "star.json", "--", "true"});
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("sysctl net.core.netdev_max_backlog="));
}

struct WrongInput {
  std::vector<std::string> arguments;
  const char* message;
};

TEST_F(ShellCommand, WrongInputIsAnsweredBeforeAnythingStarts) {
  const std::vector<WrongInput> cases = {
      {{"three-swich", "--", "true"}, "did you mean \"three-switch\""},
      {{"no/such.json", "--", "true"}, "no/such.json does not exist"},
      {{"loopback", "--", "true"}, "has no virtual network"},
      {{"three-switch", "--host", "w9", "--", "true"}, "has no such host"},
      {{"three-switch", "ip", "address"}, "follow \"--\""},
      {{"three-switch", "--"}, "no command follows"},
      {{"three-switch", "--", "true", "--and", "true"}, "--and --host NAME -- COMMAND..."},
      {{"three-switch", "--set", "bottleneck.rat=1 Gbit/s", "--", "true"},
       "did you mean \"bottleneck.rate\""},
      {{"three-switch", "--set", "mtu=64", "--", "true"}, "--set mtu=64: must be at least 1280"},
      {{"three-switch", "--set", "congestion_control=BBR", "--", "true"}, "such as cubic, reno or bbr"},
      {{"three-switch", "--set", "bottleneck.rate", "--", "true"}, "must be written path=value"},
      {{"three-switch", "--set", "bottleneck.rate=1 Gbyte", "--", "true"}, "unit"},
      {{"three-switch", "--set", "bottleneck.rate=1 bit/s", "--", "true"}, "at least 100 kbit/s"},
      {{}, "TOPOLOGY: is missing"}};
  for (const WrongInput& wrong : cases) {
    std::vector<std::string> arguments = {"shell"};
    arguments.insert(arguments.end(), wrong.arguments.begin(), wrong.arguments.end());
    const auto ended = program_.run(arguments);
    EXPECT_EQ(ended.status.code, 2) << ended.errors;
    EXPECT_THAT(ended.errors, HasSubstr(wrong.message));
  }
}

TEST_F(ShellCommand, HelpHasExamples) {
  const auto ended = program_.run({"shell", "--help"});
  EXPECT_EQ(ended.status.code, 0);
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("Examples:"), HasSubstr("--and --host"), HasSubstr("Exit codes:")));
}

}  // namespace
}  // namespace thinpipe
