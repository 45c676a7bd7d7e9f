// SPDX-License-Identifier: Apache-2.0
#include "common/support/child_process.hh"

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

// The child takes all descriptors from the parent, which can then open no pidfd.
TEST(ChildProcess, AFailureAfterTheStartIsNamedAndLeavesNoChild) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  const auto take_descriptors = [&none] {
    system_call("limit the parent", ::prlimit(::getppid(), RLIMIT_NOFILE, &none, nullptr));
  };
  std::exception_ptr failure;
  try {
    const ChildProcess child({.arguments = {"/bin/sleep", "1000"}, .before_exec = take_descriptors});
  } catch (...) {
    failure = std::current_exception();
  }
  // Before a look at the failure: sanitizers need descriptors, too.
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(failure);
  EXPECT_THAT([&] { std::rethrow_exception(failure); },
              testing::ThrowsMessage<SystemError>("open a pidfd of /bin/sleep: Too many open files"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "it runs on";
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

// As a shared library's helper does that a program starts and forgets.
TEST(RunProgram, AProcessLeftBehindWithThePipesOpenIsNotWaitedFor) {
  const std::string large(1 << 20, 'x');
  const Output output = run_program({"/bin/sh", "-c", "exec 3<&0; sleep 1000 <&3 & echo $!; exit 3"}, large);
  EXPECT_EQ(output.status.code, 3);
  const pid_t left_behind = std::stoi(output.text);
  EXPECT_EQ(::kill(left_behind, SIGKILL), 0) << "it has ended, so that nothing is tested";
}

TEST(RunProgram, WhatTheProgramItselfWroteIsWhole) {
  const Output output =
      run_program({"/bin/sh", "-c", "sleep 1000 & head -c 1000000 /dev/zero | tr '\\0' x; echo $!"});
  ASSERT_GT(output.text.size(), 1'000'000);
  EXPECT_EQ(output.text.find_first_not_of('x'), 1'000'000);
  ::kill(std::stoi(output.text.substr(1'000'000)), SIGKILL);
}

TEST(RunProgram, AProcessLeftBehindThatKeepsWritingEndsNothing) {
  const Output output = run_program({"/bin/sh", "-c", "yes & echo done"});
  EXPECT_TRUE(output.status.ok());
  EXPECT_THAT(output.text, testing::HasSubstr("done"));
}

}  // namespace
}  // namespace thinpipe
