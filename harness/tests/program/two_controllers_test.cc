// SPDX-License-Identifier: Apache-2.0
// Two controllers on one results folder: neither repeats or damages the other's work.
#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

bool log_contains(const Program& program, const std::string& text) {
  return read_file(program.folder() / "errors").find(text) != std::string::npos;
}

class TwoControllers : public testing::Test {
 protected:
  // Arguments of the second controller, which uses the first one's results but has its own output.
  std::vector<std::string> second_arguments(const std::string& experiment,
                                            const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"run", experiment, "--results", first_.results()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  void do_each_run_once() const;
  void take_over_from_a_killed_one() const;

  Program first_;
  Program second_;
};

// Locks are files that their holders keep young.
class TwoControllersWithoutFlock : public TwoControllers {
 protected:
  TwoControllersWithoutFlock() { ::setenv("THINPIPE_LOCKS", "files", 1); }
  ~TwoControllersWithoutFlock() override { ::unsetenv("THINPIPE_LOCKS"); }
};

void TwoControllers::do_each_run_once() const {
  const std::string experiment =
      first_.experiment({{"topology", "loopback"}, {"iterations", 20}}, {{"seed", {1, 2, 3, 4}}});
  ChildProcess first = first_.start(first_.run_arguments(experiment));
  ChildProcess second = second_.start(second_arguments(experiment));
  const auto first_ended = first_.finish(std::move(first));
  const auto second_ended = second_.finish(std::move(second));
  EXPECT_EQ(first_ended.status.code, 0) << first_ended.errors;
  EXPECT_EQ(second_ended.status.code, 0) << second_ended.errors;
  const std::string both = first_ended.errors + second_ended.errors;
  for (const char* const seed : {"1", "2", "3", "4"}) {
    EXPECT_EQ(count(both, std::string("] ") + seed + ": starting"), 1) << both;
    EXPECT_EQ(first_.record(seed).at("status"), "completed");
  }
  EXPECT_THAT(both, HasSubstr("is being run by process "));
  EXPECT_EQ(first_ended.output, second_ended.output);
  EXPECT_THAT(first_.written(), Not(testing::Contains(HasSubstr(".lock"))));
}

TEST_F(TwoControllers, DoEachRunOnceBetweenThemAndBothShowAll) {
  do_each_run_once();
}

TEST_F(TwoControllersWithoutFlock, DoEachRunOnceBetweenThemAndBothShowAll) {
  do_each_run_once();
  EXPECT_EQ(count(read_file(second_.folder() / "errors"), "flock does not work in "), 1);
}

void TwoControllers::take_over_from_a_killed_one() const {
  const std::string experiment =
      first_.experiment({{"topology", "loopback"}, {"iterations", 100}}, {{"seed", {1}}});
  ChildProcess first = first_.start(first_.run_arguments(experiment));
  ASSERT_TRUE(eventually([this] { return processes_marked(first_.mark()).size() == 3; }, 30s));
  ChildProcess second = second_.start(second_arguments(experiment));
  const std::string waiting = "waiting for process " + std::to_string(first.pid()) + " on ";
  ASSERT_TRUE(eventually([&] { return log_contains(second_, waiting); }, 30s))
      << read_file(second_.folder() / "errors");
  first.signal(SIGKILL);
  first_.finish(std::move(first));
  const auto ended = second_.finish(std::move(second));
  EXPECT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_EQ(count(ended.errors, "1: waiting"), 1);
  EXPECT_EQ(first_.record("1").at("status"), "completed");
}

TEST_F(TwoControllers, TheSecondTakesOverWhenTheFirstIsKilled) {
  take_over_from_a_killed_one();
}

TEST_F(TwoControllersWithoutFlock, TheSecondTakesOverWhenTheFirstIsKilled) {
  take_over_from_a_killed_one();
}

TEST_F(TwoControllers, AFailureThatTheOtherHasJustSeenIsTakenAndNotRepeated) {
  const Json fault = {{"kind", "nan"}, {"iteration", 50}};
  const std::string experiment =
      first_.experiment({{"topology", "loopback"}, {"iterations", 100}, {"fault", fault}});
  ChildProcess first = first_.start(first_.run_arguments(experiment));
  ASSERT_TRUE(eventually([this] { return processes_marked(first_.mark()).size() == 3; }, 30s));
  const auto ended = second_.run(second_arguments(experiment, {"--retry-failed"}));
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_THAT(ended.errors, HasSubstr("base: failed meanwhile: the loss is not finite"));
  EXPECT_THAT(ended.errors, Not(HasSubstr("starting")));
  EXPECT_EQ(first_.finish(std::move(first)).status.code, 1);
}

TEST_F(TwoControllers, AWaitEndsWithAnInterrupt) {
  const std::string experiment = first_.experiment({{"topology", "loopback"}, {"iterations", 100000}});
  ChildProcess first = first_.start(first_.run_arguments(experiment));
  ASSERT_TRUE(eventually([this] { return processes_marked(first_.mark()).size() == 3; }, 30s));
  ChildProcess second = second_.start(second_arguments(experiment));
  ASSERT_TRUE(eventually([this] { return log_contains(second_, "waiting for process"); }, 30s));
  second.signal(SIGINT);
  EXPECT_EQ(second_.finish(std::move(second)).status.code, 1);
  EXPECT_EQ(processes_marked(first_.mark()).size(), 3) << "the first continues";
}

TEST_F(TwoControllers, MakeSharedInitialWeightsOnce) {
  const Json base = {{"topology", "loopback"}, {"pretraining", {{"iterations", 100}}}};
  const std::string experiment = first_.experiment(base, {{"iterations", {2, 3}}});
  ChildProcess first = first_.start(first_.run_arguments(experiment, {"--only", "2"}));
  ChildProcess second = second_.start(second_arguments(experiment, {"--only", "3"}));
  EXPECT_EQ(first_.finish(std::move(first)).status.code, 0);
  EXPECT_EQ(second_.finish(std::move(second)).status.code, 0);
  EXPECT_EQ(first_.record("2").at("initial_weights"), first_.record("3").at("initial_weights"));
  const auto written = first_.written();
  EXPECT_EQ(std::ranges::count_if(
                written, [](const std::string& name) { return name.find(".made-by-") != std::string::npos; }),
            1);
}

}  // namespace
}  // namespace thinpipe
