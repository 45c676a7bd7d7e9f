// SPDX-License-Identifier: Apache-2.0
// Plans of experiments whose trainer is a command.
#include "harness/plan/training_command.hh"

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "common/support/tests/temporary_folder.hh"
#include "harness/plan/run_plan.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class CommandPlan : public testing::Test {
 protected:
  CommandPlan() { write("train.py", "import model"), write("model.py", "layers = 3"); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((folder_.path() / file).parent_path());
    std::ofstream(folder_.path() / file) << text;
  }

  std::string file() const { return folder_.path() / "e.json"; }

  std::vector<thinpipe::Run> plan(const Json& base, const Json& sweep = Json::object()) const {
    // A program that cannot answer: nothing is asked about a command.
    return plan_runs(parse_experiment(Json{{"base", base}, {"sweep", sweep}}.dump(), file()),
                     TrainerProgram("/bin/false"));
  }

  static Json with(const Json& trainer, const Json& more = Json::object()) {
    Json base = {{"topology", "pair"}, {"trainer", trainer}};
    base.update(more);
    return base;
  }

  std::string id(const Json& trainer) const { return plan(with(trainer)).at(0).id; }

  std::string refusal(const Json& trainer, const Json& more = Json::object()) const {
    try {
      plan(with(trainer, more));
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  static std::vector<std::string> arguments(const thinpipe::Run& run, std::int64_t rank) {
    return arguments_of_command(run.external_trainer, rank, run.workers, run.training->config.at("seed"));
  }

  const Json python_ = {{"command", {"python3", "train.py"}}};

 private:
  TemporaryFolder folder_;
};

TEST_F(CommandPlan, NeedsNothingButItsCommand) {
  const thinpipe::Run run = plan(with(python_)).at(0);
  EXPECT_EQ(run.workers, 2);
  EXPECT_TRUE(run.needs_network);
  const Json config = whole_config(run);
  EXPECT_EQ(config.at("seed"), 1);
  EXPECT_EQ(config.at("targets"), Json::array());
  EXPECT_FALSE(config.contains("model"));
  EXPECT_EQ(config.at("trainer").at("method"), "train");
  EXPECT_TRUE(described_plan(run).is_null());
  EXPECT_EQ(run.planned_iterations(), 0);
}

TEST_F(CommandPlan, OptionsAreSweptAndSubstituted) {
  const auto runs = plan(
      with({{"command", {"python3", "train.py", "--lr={lr}", "{method}", "{seed}", "{rank}/{world_size}"}},
            {"options", {{"lr", 0.1}, {"layers", {1, 2}}}},
            {"method", "sketch"}},
           {{"seed", 7}}),
      {{"trainer.options.lr", {0.1, 1e-5}}, {"trainer.options.nesterov", {true, false}}});
  ASSERT_EQ(runs.size(), 4);
  EXPECT_THAT(arguments(runs[2], 1), ElementsAre("python3", "train.py", "--lr=1e-05", "sketch", "7", "1/2"));
  EXPECT_EQ(runs[2].external_trainer.options, Json({{"lr", 1e-5}, {"layers", {1, 2}}, {"nesterov", true}}));
  EXPECT_NE(runs[0].id, runs[2].id);
  EXPECT_NE(runs[0].id, runs[1].id) << "an option that the command does not name is still passed on";
}

TEST_F(CommandPlan, IsIdentifiedByTheContentOfItsInputs) {
  const std::string first = id(python_);
  write("results/x/copy.py", "no input");
  EXPECT_EQ(id(python_), first);
  write("model.py", "layers = 4");
  const std::string changed = id(python_);
  EXPECT_NE(changed, first);
  write("data.txt", "1");
  EXPECT_EQ(id(python_), changed) << "no Python";
}

TEST_F(CommandPlan, ListedInputsReplaceTheDefaultExceptTheScript) {
  Json trainer = python_;
  trainer["inputs"] = {"data.txt"};
  write("data.txt", "1");
  const std::string first = id(trainer);
  write("model.py", "layers = 4");
  EXPECT_EQ(id(trainer), first);
  write("data.txt", "2");
  const std::string changed = id(trainer);
  EXPECT_NE(changed, first);
  write("train.py", "changed");
  EXPECT_NE(id(trainer), changed);
}

TEST_F(CommandPlan, IsTheSameWhicheverPatternsFindItsInputs) {
  Json trainer = python_;
  trainer["inputs"] = {"*.py"};
  EXPECT_EQ(id(trainer), id(python_));
}

TEST_F(CommandPlan, FindsTheScriptAmongTheArguments) {
  write("scripts/run.sh", "exec python3 ../train.py");
  write("scripts/helper.py", "help");
  const auto inputs = [this](const std::vector<std::string>& command) {
    const std::vector<thinpipe::Run> runs = plan(with({{"command", command}}));
    std::vector<std::string> names;
    for (const fs::path& path : runs.at(0).inputs)
      names.push_back(path.lexically_relative(fs::path(file()).parent_path()));
    return names;
  };
  EXPECT_THAT(inputs({"sh", "scripts/run.sh", "train.txt"}),
              ElementsAre("scripts/helper.py", "scripts/run.sh"));
  EXPECT_THAT(inputs({"python3", "-u", "scripts/helper.py", "model.py"}), ElementsAre("scripts/helper.py"));
  EXPECT_THAT(inputs({"python3", "-m", "train"}), ElementsAre("model.py", "scripts/helper.py", "train.py"));
}

TEST_F(CommandPlan, MethodsAreNamed) {
  const auto method = [this](const Json& trainer) {
    return *method_of_trainer(whole_config(plan(with(trainer)).at(0)).at("trainer"));
  };
  EXPECT_EQ(method(python_), "train");
  EXPECT_EQ(method({{"command", {"python3", "-m", "train"}}}), "train");
  EXPECT_EQ(method({{"command", {"/bin/true"}}, {"inputs", Json::array()}}), "true");
  EXPECT_EQ(method({{"command", {"python3", "train.py"}}, {"method", "dense"}}), "dense");
}

TEST_F(CommandPlan, MistakesAreFoundWhereTheUserMadeThem) {
  EXPECT_THAT(refusal({{"command", {"python3", "train.py", "{lr}"}}, {"options", {{"lrr", 1}}}}),
              AllOf(HasSubstr("/base/trainer/command/2: unknown placeholder {lr}"),
                    HasSubstr("did you mean \"lrr\"?")));
  EXPECT_THAT(refusal({{"command", {"python3", "train.py", "{method}"}}}),
              HasSubstr("unknown placeholder {method}"));
  EXPECT_THAT(refusal({{"command", {"python3", "trian.py"}}}),
              AllOf(HasSubstr("/base/trainer/command: no argument names a script"), HasSubstr("\"inputs\"")));
  EXPECT_THAT(refusal({{"command", {"python3", "train.py"}}, {"inputs", {"*.pyx"}}}),
              AllOf(HasSubstr("/base/trainer/inputs/0"), HasSubstr("no file below")));
  EXPECT_THAT(refusal({{"command", Json::array()}}), HasSubstr("needs either \"program\""));
  EXPECT_THAT(refusal({{"method", "mine"}}), HasSubstr("needs either \"program\""));
  EXPECT_THAT(refusal({{"command", {"python3", "train.py"}}, {"program", "train.py"}}),
              HasSubstr("needs either"));
  EXPECT_THAT(refusal({{"command", {"python3", "train.py"}}, {"files", {"model.py"}}}),
              AllOf(HasSubstr("/base/trainer/files"), HasSubstr("\"inputs\"")));
  EXPECT_THAT(refusal({{"command", {"python3", "train.py"}}, {"options", {{"rank", 1}}}}),
              AllOf(HasSubstr("/base/trainer/options/rank"), HasSubstr("choose another name")));
  EXPECT_THAT(refusal({{"command", {"python3", "train.py"}}, {"options", {{"name", "x"}}}}),
              HasSubstr("/base/trainer/options/name"));
  EXPECT_THAT(refusal({{"command", {"python3", "train.py"}}, {"options", 3}}),
              HasSubstr("/base/trainer/options"));
  EXPECT_THAT(refusal({{"program", "pytorch-ddp"}, {"options", {{"lr", 1}}}}),
              AllOf(HasSubstr("/base/trainer/options"), HasSubstr("works only with a \"command\"")));
}

TEST_F(CommandPlan, PatternsOfTheCurveAreCheckedBeforeAnythingRuns) {
  const auto refused = [this](const Json& curve) {
    return refusal({{"command", {"python3", "train.py"}}, {"curve", curve}});
  };
  EXPECT_EQ(refused({{"iteration", "step ([0-9]+)"}, {"test_accuracy", "acc ([0-9.]+)"}}), "accepted");
  EXPECT_THAT(refused({{"iteration", "step ([0-9+)"}}),
              AllOf(HasSubstr("/base/trainer/curve/iteration"), HasSubstr("is not a regular expression")));
  EXPECT_THAT(refused({{"test_accuracy", "acc ([0-9.]+)"}}),
              AllOf(HasSubstr("/base/trainer/curve: needs \"iteration\"")));
  EXPECT_THAT(refused({{"accuracy", "acc ([0-9.]+)"}}), HasSubstr("unknown key \"accuracy\""));
}

TEST_F(CommandPlan, KeysOfThinpipeTrainerAreRefusedTogether) {
  EXPECT_THAT(refusal(python_, {{"model", {{"name", "mlp"}}}, {"training", {{"epochs", 1}}}}),
              AllOf(HasSubstr("/base/model: has no effect on a trainer's command"),
                    HasSubstr("here: model, training"), HasSubstr("trainer.options")));
  EXPECT_THAT(refusal(python_, {{"seed", -1}}), HasSubstr("/base/seed"));
  EXPECT_THAT(refusal(python_, {{"targets", {1.5}}}), HasSubstr("/base/targets/0"));
}

TEST_F(CommandPlan, WhatOnlyAWorkerProgramCanDoIsRefused) {
  EXPECT_THAT(refusal(python_, {{"on_worker_failure", "restart"}}), HasSubstr("/base/on_worker_failure"));
  EXPECT_THAT(refusal(python_, {{"worker_events", {{{"worker", 1}, {"slowdown", 2}}}}}),
              HasSubstr("/base/worker_events/0/slowdown"));
  EXPECT_EQ(refusal(python_, {{"worker_events", {{{"worker", 1}, {"action", "kill"}, {"at", "1 s"}}}}}),
            "accepted");
  const Json by_train_time = {{"link", "bottlenecks"}, {"file", "100-to-1000"}};
  EXPECT_THAT(refusal(python_, {{"topology", "three-switch"}, {"rate_trace", by_train_time}}),
              AllOf(HasSubstr("/base/rate_trace"), HasSubstr("must be \"wall\"")));
  EXPECT_THAT(refusal(python_, {{"mode", "replay"}}),
              HasSubstr("works only in modes \"live\" and \"cluster\""));
}

TEST_F(CommandPlan, ReplacesThinpipesTrainerInOneRunOfASweep) {
  const Json sweep = {
      {"method",
       {{"dense", {{"synchroniser", {{"name", "dense"}}}}},
        {"mine", {{"synchroniser", nullptr}, {"trainer", {{"command", {"python3", "train.py"}}}}}}}}};
  const auto runs =
      plan_runs(parse_experiment(Json{{"base", {{"topology", "pair"}}}, {"sweep", sweep}}.dump(), file()),
                TrainerProgram(built_program("thinpipe-fake-trainer")));
  ASSERT_EQ(runs.size(), 2);
  EXPECT_FALSE(runs[0].runs_command());
  EXPECT_TRUE(runs[1].runs_command());
}

}  // namespace
}  // namespace thinpipe
