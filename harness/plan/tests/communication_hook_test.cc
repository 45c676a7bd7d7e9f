// SPDX-License-Identifier: Apache-2.0
// Experiments whose trainer registers a communication hook of the user's.
#include "harness/experiment/communication_hook.hh"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "harness/plan/prediction.hh"
#include "harness/plan/tests/planning.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HookPlan : public testing::Test {
 protected:
  HookPlan() { write("mine.py", "def hook(state, bucket): ..."), write("helper.py", "factor = 2"); }

  void write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_.path() / file) << text;
  }

  static Json with(const Json& hook, const Json& more = Json::object()) {
    Json base = {{"topology", "pair"}, {"trainer", {{"program", "pytorch-ddp"}, {"hook", hook}}}};
    base.update(more);
    return base;
  }

  thinpipe::Run plan(const Json& base) const {
    const std::string file = folder_.path() / "e.json";
    return plan_runs(parse_experiment(Json{{"base", base}}.dump(), file), trainer()).front();
  }

  std::string refusal(const Json& base) const {
    try {
      plan(base);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_;
};

TEST_F(HookPlan, IsTheWorkersAndNamesTheMethod) {
  const thinpipe::Run run = plan(with({{"name", "mine.py:hook"}, {"rank", 2}}));
  const std::string name = folder_.path() / "mine.py:hook";
  const Json config = whole_config(run).at("trainer");
  EXPECT_EQ(config.at("hook"), (Json{{"name", name}, {"rank", 2}}));
  EXPECT_EQ(config.at("method"), "hook");
  EXPECT_EQ(to_json(*run.external_trainer.hook), config.at("hook"));
  EXPECT_EQ(method_of_trainer(config), "hook");
  EXPECT_FALSE(predict_exchange_s(run)) << "only the hook knows its traffic";
  Json named = with("mine.py:hook");
  named["trainer"]["method"] = "mine";
  EXPECT_EQ(method_of_trainer(whole_config(plan(named)).at("trainer")), "mine");
}

TEST_F(HookPlan, AStringAndAnObjectAreTheSameRun) {
  EXPECT_EQ(plan(with("mine.py:hook")).id, plan(with({{"name", "mine.py:hook"}})).id);
}

TEST_F(HookPlan, OptionsAndAnEditOfAFileBesideTheHookMakeAnotherRun) {
  const std::string first = plan(with("mine.py:hook")).id;
  EXPECT_NE(plan(with({{"name", "mine.py:hook"}, {"rank", 2}})).id, first);
  write("notes.txt", "no part of it");
  EXPECT_EQ(plan(with("mine.py:hook")).id, first);
  write("helper.py", "factor = 3");
  EXPECT_NE(plan(with("mine.py:hook")).id, first);
}

TEST_F(HookPlan, ThatCannotBeUsedIsRefusedAtItsPlace) {
  EXPECT_THAT(refusal(with("mine.py")), AllOf(HasSubstr("/base/trainer/hook: must be FILE.py:FUNCTION")));
  EXPECT_THAT(refusal(with("yours.py:hook")),
              AllOf(HasSubstr("/base/trainer/hook: the file"), HasSubstr("yours.py does not exist")));
  EXPECT_THAT(refusal(with({{"name", "yours.py:hook"}})), HasSubstr("/base/trainer/hook/name: the file"));
  EXPECT_THAT(refusal(with({{"rank", 2}})), HasSubstr("/base/trainer/hook"));
  EXPECT_THAT(refusal(with(3)), HasSubstr("/base/trainer/hook: must be a string or an object"));
  EXPECT_THAT(refusal(with({{"name", "mine.py:hook"}, {"wrong", 1}})),
              HasSubstr("/base/trainer/hook/wrong: is wrong, says Python"));
}

TEST_F(HookPlan, ThatHasNoEffectIsRefused) {
  const auto with_trainer = [](Json trainer) {
    trainer["hook"] = "mine.py:hook";
    return Json{{"topology", "pair"}, {"trainer", trainer}};
  };
  const auto expected =
      AllOf(HasSubstr("/base/trainer/hook: works only with the program pytorch-ddp"), HasSubstr("remove it"));
  EXPECT_THAT(refusal(with_trainer({{"program", "own.py"}})), expected);
  EXPECT_THAT(refusal(with_trainer({{"command", {"python3", "mine.py"}}})), expected);
  EXPECT_THAT(
      refusal(with("mine.py:hook", {{"synchroniser", {{"name", "topk"}}}})),
      AllOf(HasSubstr("/base/synchroniser: has no effect beside trainer.hook"), HasSubstr("it is topk")));
  EXPECT_EQ(refusal(with("mine.py:hook", {{"synchroniser", {{"name", "dense"}}}})), "accepted");
}

}  // namespace
}  // namespace thinpipe
