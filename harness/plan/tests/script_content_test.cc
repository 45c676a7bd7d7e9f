// SPDX-License-Identifier: Apache-2.0
// The identity of implementations in Python files.
#include "harness/plan/script_content.hh"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "harness/plan/tests/planning.hh"

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;

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

}  // namespace
}  // namespace thinpipe
