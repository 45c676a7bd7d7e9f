#include "common/support/child_process.hh"

#include <cerrno>
#include <csignal>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe {
namespace {

ChildProcess shell(const std::string& script) {
  return ChildProcess({.arguments = {"/bin/sh", "-c", script}});
}

TEST(ChildProcess, ReportsExitCodesAndSignals) {
  EXPECT_EQ(shell("exit 3").wait().describe(), "exit code 3");
  EXPECT_TRUE(shell("true").wait().ok());
  const ExitStatus killed = shell("kill -9 $$").wait();
  EXPECT_EQ(killed.describe(), "signal 9 (Killed)");
  EXPECT_FALSE(killed.ok());
}

TEST(ChildProcess, AProgramThatCannotBeExecutedIsNamed) {
  try {
    ChildProcess child({.arguments = {"/no/such/program"}});
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cannot start /no/such/program"));
    EXPECT_THAT(error.what(), testing::HasSubstr("No such file"));
  }
}

TEST(ChildProcess, AFailureBeforeExecReachesTheParent) {
  try {
    ChildProcess child(
        {.arguments = {"/bin/true"}, .before_exec = [] { throw Error("enter the namespace of w3"); }});
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("enter the namespace of w3"));
  }
}

TEST(ChildProcess, ItsPidfdBecomesReadableWhenItEnds) {
  ChildProcess child = shell("read line");  // its input is /dev/null: it ends at once
  pollfd waiting{.fd = child.pidfd().get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&waiting, 1, -1), 1);
  EXPECT_TRUE(child.try_wait().has_value());
}

TEST(ChildProcess, ItsDestructorKillsAndReapsIt) {
  pid_t pid = -1;
  {
    const ChildProcess child = shell("exec sleep 1000");
    pid = child.pid();
    ASSERT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(ChildProcess, MovingHandsOverTheChild) {
  ChildProcess first = shell("exit 4");
  ChildProcess second = std::move(first);
  EXPECT_EQ(second.wait().code, 4);
}

TEST(RunProgram, FeedsInputAndReturnsOutput) {
  const std::string large(1 << 20, 'x');  // more than a pipe holds, both ways
  const Output output = run_program({"/bin/cat"}, large);
  EXPECT_TRUE(output.status.ok());
  EXPECT_EQ(output.text, large);
}

TEST(RunProgram, AProgramThatReadsNothingIsJudgedByItsExitStatus) {
  EXPECT_EQ(run_program({"/bin/sh", "-c", "exit 5"}, std::string(1 << 20, 'x')).status.code, 5);
}

}  // namespace
}  // namespace thinpipe
