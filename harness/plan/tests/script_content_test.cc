// SPDX-License-Identifier: Apache-2.0
// The identity of implementations in Python files.
#include "harness/plan/script_content.hh"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "harness/plan/tests/planning.hh"

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;
using testing::StartsWith;

class Scripts : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_.path() / file) << text;
  }

  Json named(const std::string& script) const { return {{"name", folder_.path() / script}}; }

  std::string identity_of(const std::string& script) const {
    Json content;
    ScriptContent().add_to(content, {{"model", named(script)}});
    return content.at("/model/name");
  }

  const TemporaryFolder folder_;
};

TEST_F(Scripts, OfOneNameInTwoFilesAreTwoRuns) {
  write("a.py", "class Net: ...");
  write("b.py", "class Net: ...");
  const Json sweep = {
      {"model", {{"a", {{"model", named("a.py:Net")}}}, {"b", {{"model", named("b.py:Net")}}}}}};
  std::vector<std::string> labels;
  for (const thinpipe::Run& run : plan(Json{{"base", {{"topology", "pair"}}}, {"sweep", sweep}}.dump()))
    labels.push_back(run.label);
  EXPECT_THAT(labels, ElementsAre("a", "b"));
}

TEST_F(Scripts, AreNamedWithoutTheFileIfNoOtherHasTheName) {
  write("a.py", "class Net: ...");
  write("helper.py", "class Layer: ...");
  const std::string alone = identity_of("a.py:Net");
  EXPECT_THAT(alone, MatchesRegex("[0-9a-f]{16}:Net"));
  write("helper.py", "class Net: ...");
  EXPECT_THAT(identity_of("a.py:Net"), MatchesRegex("[0-9a-f]{16}:a.py:Net"));
}

// Returns the message about a run of the experiment after an edit of the file.
class EditedCode : public Scripts {
 protected:
  std::string refusal_after_edit(const Json& base, const std::string& file) const {
    const std::string experiment = folder_.path() / "e.json";
    const auto runs = plan_runs(parse_experiment(Json{{"base", base}}.dump(), experiment), trainer());
    for (const thinpipe::Run& run : runs) check_code_is_as_planned(run);
    write(file, "edited");
    try {
      check_code_is_as_planned(runs.back());
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(EditedCode, IsNoticed) {
  write("a.py", "class Net: ...");
  write("helper.py", "width = 3");
  EXPECT_THAT(refusal_after_edit({{"topology", "pair"}, {"model", named("a.py:Net")}}, "helper.py"),
              StartsWith("the code of /model/name has changed since the experiment was planned"));
  EXPECT_THAT(
      refusal_after_edit({{"topology", "pair"}, {"mode", "replay"}, {"model", named("a.py:Net")}}, "a.py"),
      StartsWith("the code of /model/name has changed"));
  EXPECT_EQ(refusal_after_edit({{"topology", "pair"}, {"model", named("a.py:Net")}}, "notes.txt"),
            "accepted");
}

TEST_F(EditedCode, OfAnExternalTrainerIsNoticed) {
  const auto refusal = [&](const Json& trainer, const std::string& file) {
    return refusal_after_edit({{"topology", "pair"}, {"trainer", trainer}}, file);
  };
  write("mine.py", "def hook(state, bucket): ...");
  EXPECT_THAT(refusal({{"program", "pytorch-ddp"}, {"hook", "mine.py:hook"}}, "mine.py"),
              StartsWith("the code of /trainer/hook/name has changed"));
  write("own.sh", "true");
  std::filesystem::permissions(folder_.path() / "own.sh", std::filesystem::perms::owner_all);
  EXPECT_THAT(refusal("own.sh", "own.sh"), StartsWith("the code of /trainer has changed"));
  write("mine.py", "def hook(state, bucket): ...");
  const Json with_files = {{"program", "own.sh"}, {"files", {"mine.py", folder_.path() / "own.sh"}}};
  EXPECT_THAT(refusal(with_files, "mine.py"), StartsWith("the code of /trainer/files has changed"));
  write("mine.py", "def hook(state, bucket): ...");
  EXPECT_THAT(refusal({{"command", {"python3", "mine.py"}}}, "mine.py"),
              StartsWith("a file of the trainer's command has changed"));
}

}  // namespace
}  // namespace thinpipe
