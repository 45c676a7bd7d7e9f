// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/script_inputs.hh"

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// A folder with a script of a user and what usually lies beside it.
class Project : public testing::Test {
 protected:
  Project() {
    for (const char* file : {"train.py", "notes.txt", "lib/model.py", "lib/deep/layer.py", "lib/data.bin",
                             "lib/__pycache__/model.py", ".git/hook.py", ".hidden.py", "venv/pyvenv.cfg",
                             "venv/lib/torch.py", "site-packages/numpy.py", "results/run/copy.py"}) {
      write(file, file);
    }
  }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root() / file).parent_path());
    std::ofstream(root() / file) << text;
  }

  const fs::path& root() const { return folder_.path(); }

  std::vector<std::string> names(const std::vector<fs::path>& files) const {
    std::vector<std::string> out;
    for (const fs::path& file : files) out.push_back(file.lexically_relative(root()));
    return out;
  }

  std::vector<std::string> matching(const std::vector<std::string>& patterns) const {
    return names(files_matching(patterns, root(), {"e.json", "/inputs"}));
  }

  std::string refusal(const std::vector<std::string>& patterns) const {
    try {
      matching(patterns);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  std::string hash() const { return content_hash_of_files(python_files_below(root()), root()); }

 private:
  TemporaryFolder folder_;
};

TEST_F(Project, HasTheUsersOwnPythonFilesAndNoOthers) {
  EXPECT_THAT(names(python_files_below(root())),
              ElementsAre(".hidden.py", "lib/deep/layer.py", "lib/model.py", "train.py"));
}

TEST_F(Project, LeadsThroughLinksToFilesButNotToFolders) {
  const TemporaryFolder elsewhere;
  std::ofstream(elsewhere.path() / "far.py") << "far";
  fs::create_symlink(elsewhere.path() / "far.py", root() / "near.py");
  fs::create_directory_symlink(root(), root() / "lib" / "again");
  EXPECT_THAT(names(python_files_below(root())),
              ElementsAre(".hidden.py", "lib/deep/layer.py", "lib/model.py", "near.py", "train.py"));
}

TEST_F(Project, WithTooManyFilesIsRefused) {
  for (std::size_t i = 0; i <= max_script_inputs; ++i) std::ofstream(root() / fmt::format("{}.py", i));
  EXPECT_THROW(python_files_below(root()), TooManyInputs);
  EXPECT_THAT(refusal({"train.py", "*.py"}), HasSubstr("/inputs/1: matches too much"));
}

TEST_F(Project, PatternsMatchLikeAShells) {
  EXPECT_THAT(matching({"*.py"}), ElementsAre("train.py"));
  EXPECT_THAT(matching({"lib/*"}), ElementsAre("lib/data.bin", "lib/deep/layer.py", "lib/model.py"));
  EXPECT_THAT(matching({"lib"}), ElementsAre("lib/data.bin", "lib/deep/layer.py", "lib/model.py"));
  EXPECT_THAT(matching({"**/*.py"}), ElementsAre("lib/deep/layer.py", "lib/model.py", "train.py"));
  EXPECT_THAT(matching({"lib/**/*.py"}), ElementsAre("lib/deep/layer.py", "lib/model.py"));
  EXPECT_THAT(matching({"[nt]*.???", "train.p?"}), ElementsAre("notes.txt", "train.py"));
  EXPECT_THAT(matching({"results/run/*.py"}), ElementsAre("results/run/copy.py")) << "named by the user";
  EXPECT_THAT(matching({"lib/../*.py"}), ElementsAre("train.py")) << "one name for each file";
  EXPECT_THAT(matching({(root() / "*.py").string()}), ElementsAre("train.py"));
}

TEST_F(Project, APatternThatMatchesNothingIsRefused) {
  EXPECT_THAT(refusal({"*.py", "models/*.py"}),
              testing::AllOf(HasSubstr("e.json at /inputs/1"), HasSubstr("no file below"),
                             HasSubstr("\"models/*.py\"")));
  EXPECT_THAT(refusal({""}), HasSubstr("/inputs/0"));
}

TEST_F(Project, IsIdentifiedByPathsAndContents) {
  const std::string before = hash();
  write("results/run/copy.py", "changed");
  write("lib/data.bin", "changed");
  EXPECT_EQ(hash(), before) << "no input";
  write("lib/deep/layer.py", "changed");
  const std::string changed = hash();
  EXPECT_NE(changed, before);
  fs::rename(root() / "lib/deep/layer.py", root() / "lib/layer.py");
  EXPECT_NE(hash(), changed);
}

TEST_F(Project, IsTheSameElsewhere) {
  const std::string here = hash();
  const TemporaryFolder elsewhere;
  fs::copy(root(), elsewhere.path(), fs::copy_options::recursive);
  EXPECT_EQ(content_hash_of_files(python_files_below(elsewhere.path()), elsewhere.path()), here);
}

}  // namespace
}  // namespace thinpipe
