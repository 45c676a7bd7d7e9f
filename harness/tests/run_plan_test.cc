#include "harness/run_plan.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const TrainerProgram& trainer() {
  static const TrainerProgram program(THINPIPE_FAKE_TRAINER);
  return program;
}

std::vector<Run> plan(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return plan_runs(parse_experiment(text, "e.json", overrides), trainer());
}

std::string failure(const std::string& text) {
  try {
    plan(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PlanRuns, FillsInEveryDefaultAndResolvesTheTopology) {
  const auto runs = plan(R"({"base": {"bottleneck": {"rate": "200 Mbit/s"}}})");
  ASSERT_EQ(runs.size(), 1);
  const Json& config = runs[0].config;
  EXPECT_EQ(config.at("mode"), "live");
  EXPECT_EQ(config.at("workers"), 8);
  EXPECT_EQ(config.at("topology").at("name"), "three-switch");
  EXPECT_EQ(config.at("bottleneck"), Json({{"rate", "200 Mbit/s"}}));
  EXPECT_EQ(config.at("synchroniser").at("name"), "dense");
  EXPECT_EQ(runs[0].training_config.at("workers"), 8);
  EXPECT_FALSE(runs[0].training_config.contains("topology"));
  EXPECT_TRUE(runs[0].needs_network());
}

TEST(PlanRuns, WritingADefaultOutDoesNotChangeTheIdentity) {
  EXPECT_EQ(plan(R"({"base": {"topology": "loopback"}})")[0].id,
            plan(R"({"base": {"workers": 2, "seed": 1, "mode": "live", "topology": "loopback"}})")[0].id);
  EXPECT_NE(plan(R"({"base": {"topology": "loopback"}})")[0].id,
            plan(R"({"base": {"topology": "loopback", "seed": 2}})")[0].id);
}

TEST(PlanRuns, IdenticalPointsAreOneRun) {
  const auto runs = plan(R"({"base": {}, "sweep": {"m": {"a": {"seed": 1}, "b": {"seed": 2}, "c": {}}}})");
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0].label, "a");
}

TEST(PlanRuns, TheTrainersRefusalLeadsBackToTheFile) {
  EXPECT_EQ(
      failure(R"({"base": {}, "sweep": {"m": {"half": {"synchroniser": {"name": "topk", "ratio": 1.5}}}}})"),
      "e.json at /sweep/m/half/synchroniser/ratio: must be above 0 and at most 1, but is 1.5");
  EXPECT_EQ(
      failure(R"({"base": {"synchroniser": {"name": "topkk"}}})"),
      "e.json at /base/synchroniser/name: unknown name \"topkk\"; did you mean \"topk\"? known: dense, fp16, "
      "topk");
}

TEST(PlanRuns, AMisspeltKeyOfTheHarnessGetsItsSuggestion) {
  EXPECT_THAT(failure(R"({"base": {"topolgy": "loopback"}})"),
              StartsWith("e.json at /base/topolgy: unknown key \"topolgy\"; did you mean \"topology\"?"));
}

TEST(PlanRuns, TheHarnesssOwnRules) {
  EXPECT_THAT(failure(R"({"base": {"topology": "three-swich"}})"),
              AllOf(StartsWith("e.json at /base/topology: unknown topology"),
                    HasSubstr("did you mean \"three-switch\"?")));
  EXPECT_THAT(failure(R"({"base": {"topology": "mine.json"}})"), HasSubstr("mine.json does not exist"));
  EXPECT_THAT(failure(R"({"base": {"workers": 9}})"),
              StartsWith("e.json at /base/workers: must be at most 8, the number of hosts of the topology"));
  EXPECT_THAT(failure(R"({"base": {"workers": 0}})"),
              StartsWith("e.json at /base/workers: must be at least 1"));
  EXPECT_THAT(failure(R"({"base": {"mode": "lvie"}})"), HasSubstr("/base/mode: unknown name \"lvie\""));
  EXPECT_THAT(failure(R"({"base": {}, "sweep": {"bottleneck.rate": ["100 Mbps"]}})"),
              StartsWith("e.json at /sweep/bottleneck.rate/0: unknown unit \"Mbps\""));
  EXPECT_THAT(failure(R"({"base": {"bottleneck": {"rat": "1 Gbit/s"}}})"),
              StartsWith("e.json at /base/bottleneck: \"rate\" is missing"));
  EXPECT_THAT(failure(R"({"base": {"topology": "loopback", "bottleneck": {"rate": "1 Gbit/s"}}})"),
              StartsWith("e.json at /base/bottleneck/rate: "));
}

TEST(Matching, ChoosesByWholeLabelOrByOneOfThem) {
  const auto runs = plan(
      R"({"base": {}, "sweep": {"m": {"a": {"seed": 1}, "b": {"seed": 2}}, "targets": [[0.1], [0.2]]}})");
  EXPECT_EQ(matching(runs, "").size(), 4);
  EXPECT_EQ(matching(runs, "a").size(), 2);
  EXPECT_EQ(matching(runs, "a, *1*").size(), 1);
  EXPECT_THROW(matching(runs, "c*"), InputError);
}

TEST(TrainerProgram, AProgramThatFailsIsNamed) {
  EXPECT_THROW(TrainerProgram("/bin/false").describe(), Error);
  EXPECT_THROW(TrainerProgram("/bin/echo").check({Json::object()}), Error);
}

}  // namespace
}  // namespace thinpipe
