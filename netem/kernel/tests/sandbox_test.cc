// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/sandbox.hh"

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "common/support/exception.hh"
#include "common/support/tests/paths.hh"

namespace thinpipe::netem {
namespace {

using testing::HasSubstr;

const std::string helper_path = built_program("netem_sandbox_helper");

// The helper in its own process group. Every process that it starts holds its output pipe open.
struct Helper {
  Pipe output = Pipe::create();
  ChildProcess process;

  explicit Helper(
      std::vector<std::string> arguments, const std::function<void()>& before_exec = [] {})
      : process({.arguments = with_path(std::move(arguments)),
                 .standard_output = output.write_end.get(),
                 .before_exec = [&] {
                   system_call("make a process group", ::setpgid(0, 0));
                   before_exec();
                 }}) {
    output.write_end.reset();
  }

  static std::vector<std::string> with_path(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), helper_path);
    return arguments;
  }

  std::string line() const {
    std::string text;
    for (char c = 0; ::read(output.read_end.get(), &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
};

ExitStatus run_helper(std::vector<std::string> arguments) {
  return Helper(std::move(arguments)).process.wait();
}

TEST(SandboxTest, ThisProcessIsOutside) {
  EXPECT_FALSE(inside_sandbox());
}

TEST(SandboxTest, ReturnsTheProgramsExitCode) {
  EXPECT_EQ(run_helper({"exit", "0"}).describe(), "exit code 0");
  EXPECT_EQ(run_helper({"exit", "5"}).describe(), "exit code 5");
}

TEST(SandboxTest, ReportsADeathBySignal) {
  EXPECT_EQ(run_helper({"die", std::to_string(SIGKILL)}).describe(), "exit code 137");
  EXPECT_EQ(run_helper({"die", std::to_string(SIGTERM)}).describe(), "exit code 143");
}

// A program inherits from its parent that SIGCHLD is ignored.
TEST(SandboxTest, ReturnsTheExitCodeAlsoIfChildrensEndsAreIgnored) {
  Helper helper({"exit", "5"}, [] { std::signal(SIGCHLD, SIG_IGN); });
  pollfd end{.fd = helper.process.pidfd().get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&end, 1, 20'000), 1) << "it waits for ever";
  EXPECT_EQ(helper.process.wait().describe(), "exit code 5");
}

TEST(SandboxTest, ASignalToTheOuterProcessArrivesOnce) {
  Helper helper({"count-interrupts"});
  ASSERT_EQ(helper.line(), "ready");
  helper.process.signal(SIGINT);
  EXPECT_EQ(helper.line(), "1");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, ASignalToTheOuterProcessGroupArrivesOnce) {  // like a terminal's Ctrl-C
  Helper helper({"count-interrupts"});
  ASSERT_EQ(helper.line(), "ready");
  ASSERT_EQ(::kill(-helper.process.pid(), SIGINT), 0);
  EXPECT_EQ(helper.line(), "1");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, AHangUpArrives) {
  Helper helper({"count-interrupts"});
  ASSERT_EQ(helper.line(), "ready");
  helper.process.signal(SIGHUP);
  EXPECT_EQ(helper.line(), "1");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, AHangUpThatIsIgnoredDoesNotArrive) {  // as with nohup
  Helper helper({"count-interrupts"}, [] { std::signal(SIGHUP, SIG_IGN); });
  ASSERT_EQ(helper.line(), "ready");
  helper.process.signal(SIGHUP);
  helper.process.signal(SIGINT);
  EXPECT_EQ(helper.line(), "1");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, KillingTheOuterProcessLeavesNoProcess) {
  Helper helper({"leave-orphans"});
  ASSERT_EQ(helper.line(), "ready");
  helper.process.signal(SIGKILL);
  EXPECT_EQ(helper.process.wait().signal, SIGKILL);
  // The pipe ends when the last process that holds it has ended.
  pollfd end{.fd = helper.output.read_end.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&end, 1, 2000), 1) << "a process still lives 2 s after its controller was killed";
  EXPECT_EQ(helper.line(), "");
}

std::string state_of(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return stat.substr(stat.rfind(") ") + 2, 1);
}

// On a busy machine the outer process may be killed before the first process inside has begun. Here a tracer
// holds that process meanwhile.
TEST(SandboxTest, KillingTheOuterProcessBeforeTheFirstInsideBeganLeavesNoProcess) {
  Helper helper({"leave-orphans"}, [] { system_call("be traced", ::ptrace(PTRACE_TRACEME, 0, 0, 0)); });
  const pid_t outer = helper.process.pid();
  int status = 0;
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  ASSERT_TRUE(WIFSTOPPED(status));
  system_call("trace children",
              ::ptrace(PTRACE_SETOPTIONS, outer, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE));
  system_call("continue", ::ptrace(PTRACE_CONT, outer, 0, 0));
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  ASSERT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP) << status;
  unsigned long inner = 0;
  system_call("read the child's process ID", ::ptrace(PTRACE_GETEVENTMSG, outer, 0, &inner));
  system_call("continue", ::ptrace(PTRACE_CONT, outer, 0, 0));
  ASSERT_EQ(::waitpid(static_cast<pid_t>(inner), &status, __WALL), static_cast<pid_t>(inner));
  // The outer process has done its part once it keeps sleeping, waiting for the report from inside.
  for (int asleep = 0; asleep < 20; asleep = state_of(outer) == "S" ? asleep + 1 : 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  helper.process.signal(SIGKILL);
  EXPECT_EQ(helper.process.wait().signal, SIGKILL);
  system_call("let the child begin", ::ptrace(PTRACE_DETACH, static_cast<pid_t>(inner), 0, 0));
  pollfd end{.fd = helper.output.read_end.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&end, 1, 10000), 1);
  EXPECT_EQ(helper.line(), "") << "it ran on with nobody to end it";
}

TEST(SandboxTest, InitReapsOrphans) {
  Helper helper({"count-zombies"});
  EXPECT_EQ(helper.line(), "0");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, WorksForTheCaller) {
  Helper helper({"build-network"});
  EXPECT_EQ(helper.line(), "user 0 cubic");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, HasALoopbackDevice) {
  Helper helper({"use-loopback"});
  EXPECT_EQ(helper.line(), "connected");
  EXPECT_TRUE(helper.process.wait().ok());
}

TEST(SandboxTest, WorksForAnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "the caller is an ordinary user: WorksForTheCaller has shown it";
  constexpr unsigned nobody = 65534;
  Pipe output = Pipe::create();
  // By descriptor: the user nobody may have no access to the build folder.
  const FileDescriptor program(system_call("open the helper", ::open(helper_path.c_str(), O_RDONLY)));
  ChildProcess process({.arguments = {"/proc/self/fd/" + std::to_string(program.get()), "build-network"},
                        .standard_output = output.write_end.get(),
                        .before_exec = [] {
                          system_call("drop groups", ::setgroups(0, nullptr));
                          system_call("become nobody's group", ::setgid(nobody));
                          system_call("become nobody", ::setuid(nobody));
                          // The change of user took away access to /proc/self/fd.
                          system_call("open /proc/self/fd again", ::prctl(PR_SET_DUMPABLE, 1));
                        }});
  output.write_end.reset();
  EXPECT_EQ(read_to_end(output.read_end, "read the helper's output"), "user 0 cubic\n");
  EXPECT_EQ(process.wait().describe(), "exit code 0");
}

}  // namespace
}  // namespace thinpipe::netem
