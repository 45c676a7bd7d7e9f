// SPDX-License-Identifier: Apache-2.0
// The command line: help, mistyped words, and what list and report print.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

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
