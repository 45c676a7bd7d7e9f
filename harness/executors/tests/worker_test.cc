// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/worker.hh"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

using std::chrono::milliseconds;

// A shell that stands in for the worker program: it is given a command and an input.
class Script {
 public:
  explicit Script(const std::string& text)
      : worker_(loop_, "/bin/sh", {.command = "-c", .input = text, .log = folder_.path() / "log"}) {}

  void watch() {
    worker_.watch([this](const std::string& line) { lines_.push_back(line); },
                  [this] { lines_.push_back("the end"); });
  }

  std::vector<std::string> run() {
    loop_.run();
    return lines_;
  }

 private:
  TemporaryFolder folder_;
  boost::asio::io_context loop_;
  Worker worker_;
  std::vector<std::string> lines_;
};

TEST(Worker, IsHeardToItsLastLineAndThenItsEndIsSeen) {
  Script script("echo one; echo two; printf three");
  script.watch();
  EXPECT_THAT(script.run(), testing::ElementsAre("one", "two", "three", "the end"));
}

// The controller comes late: it began to listen after the first line, and goes on when all is over.
TEST(Worker, LinesThatWaitWithItsEndAreHeardBeforeIt) {
  Script script("echo one; sleep 0.4; echo two");
  std::this_thread::sleep_for(milliseconds(200));
  script.watch();
  std::this_thread::sleep_for(milliseconds(600));
  EXPECT_THAT(script.run(), testing::ElementsAre("one", "two", "the end"));
}

// Such as srun, which starts it on another machine.
TEST(Worker, IsStartedByItsLauncher) {
  const TemporaryFolder folder;
  boost::asio::io_context loop;
  std::vector<std::string> lines;
  Worker worker(
      loop, "/bin/echo",
      {.command = "-n", .input = "here", .log = folder.path() / "log", .launcher = {"/usr/bin/env", "-i"}});
  worker.watch([&](const std::string& line) { lines.push_back(line); }, [] {});
  loop.run();
  EXPECT_THAT(lines, testing::ElementsAre("here"));
}

TEST(Worker, GetsItsEnvironmentButNotAsArguments) {
  const TemporaryFolder folder;
  boost::asio::io_context loop;
  std::vector<std::string> lines;
  Worker worker(loop, "/bin/sh",
                {.command = "-c",
                 .input = "echo $SECRET; tr '\\0' ' ' < /proc/$$/cmdline; echo",
                 .log = folder.path() / "log",
                 .environment = {{"SECRET", "hidden"}}});
  worker.watch([&lines](const std::string& line) { lines.push_back(line); }, [] {});
  loop.run();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "hidden");
  EXPECT_EQ(lines[1].find("hidden"), std::string::npos);
}

// A launcher ends its program when it gets SIGTERM, and could not if it were killed.
TEST(Worker, LetsItsLauncherEndTheProgram) {
  const TemporaryFolder folder;
  const std::filesystem::path ended = folder.path() / "ended";
  const std::string launcher =
      "trap 'touch " + ended.string() + "; exit' TERM; echo ready; while :; do sleep 0.02; done";
  {
    boost::asio::io_context loop;
    Worker worker(
        loop, "/bin/true",
        {.command = "", .input = "", .log = folder.path() / "log", .launcher = {"/bin/sh", "-c", launcher}});
    worker.watch([&](const std::string&) { loop.stop(); }, [] {});
    loop.run();
  }
  EXPECT_TRUE(std::filesystem::exists(ended));
}

// More than its pipe holds at a time.
TEST(Worker, ManyLinesAreHeardInOrder) {
  Script script("seq 100000");
  script.watch();
  const std::vector<std::string> lines = script.run();
  ASSERT_EQ(lines.size(), 100001);
  for (std::size_t i = 0; i < 100000; ++i) ASSERT_EQ(lines[i], std::to_string(i + 1));
  EXPECT_EQ(lines.back(), "the end");
}

// What it leaves behind writes on for ever; its own end is seen nevertheless.
TEST(Worker, AFloodFromAProcessThatItLeftBehindDoesNotHideItsEnd) {
  Script script("yes & sleep 0.1");
  script.watch();
  const std::vector<std::string> lines = script.run();
  EXPECT_GT(lines.size(), 1);
  EXPECT_EQ(lines.back(), "the end");
}

}  // namespace
}  // namespace thinpipe
