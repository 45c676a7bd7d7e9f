// SPDX-License-Identifier: Apache-2.0
#include "harness/records/local_paths.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

const LocalPaths paths({.results = "/home/ada/work/results/cap",
                        .experiment = "/home/ada/work/experiments/",
                        .current = "/home/ada/work",
                        .temporary = "/tmp",
                        .home = "/home/ada"});

struct TextCase {
  const char* text;
  const char* expected;
};

class LocalPathsInText : public testing::TestWithParam<TextCase> {};

TEST_P(LocalPathsInText, AreReplaced) {
  const Json record = {{"provenance", {{"command_line", {GetParam().text}}}}};
  EXPECT_EQ(paths.without(record).at("provenance").at("command_line").at(0), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, LocalPathsInText,
    testing::Values(TextCase{"/home/ada/work/results/cap/initial-weights/00ff.pt", "initial-weights/00ff.pt"},
                    TextCase{"/home/ada/work/results/cap", "."},
                    TextCase{"/home/ada/work/results/cap-2", "results/cap-2"},
                    TextCase{"/home/ada/work/build/release/thinpipe", "build/release/thinpipe"},
                    TextCase{"/home/ada/profiles/a40.json", "~/profiles/a40.json"},
                    TextCase{"--results=/tmp/w/full", "--results=$TMPDIR/w/full"},
                    TextCase{"cannot open /home/ada/x: no such file, nor /home/ada/y",
                             "cannot open ~/x: no such file, nor ~/y"},
                    TextCase{"File \"/home/ada/work/train.py\", line 3", "File \"train.py\", line 3"},
                    TextCase{"/home/adam/x", "/home/adam/x"}, TextCase{"/data/tmp/x", "/data/tmp/x"},
                    TextCase{"/usr/lib/libgloo.so.0", "/usr/lib/libgloo.so.0"},
                    TextCase{"left->middle", "left->middle"}, TextCase{"/home/ada/work/", "./"},
                    TextCase{"", ""}));

TEST(LocalPaths, OfTheConfigurationAreRelativeToTheExperiment) {
  const Json config = {{"weights", {{"file", "/home/ada/work/experiments/mine.pt"}}},
                       {"dataset", {{"directory", "/home/ada/data/cifar"}, {"name", "cifar10"}}},
                       {"synchroniser", {{"name", "/home/ada/work/methods/mine.py:Mine"}}},
                       {"model", {{"directory", "/usr/share/datasets/fashion-mnist"}}}};
  EXPECT_EQ(paths.without({{"config", config}}).at("config"),
            Json({{"weights", {{"file", "mine.pt"}}},
                  {"dataset", {{"directory", "../../data/cifar"}, {"name", "cifar10"}}},
                  {"synchroniser", {{"name", "../methods/mine.py:Mine"}}},
                  {"model", {{"directory", "/usr/share/datasets/fashion-mnist"}}}}));
}

TEST(LocalPaths, LeaveAnythingButTextAlone) {
  const Json record = {{"iterations", 3}, {"curve", {{{"epoch", 0.5}}}}, {"error", nullptr}};
  EXPECT_EQ(paths.without(record), record);
}

TEST(LocalPaths, TheRootIsNoFolder) {
  const LocalPaths of_root(
      {.results = "/r", .experiment = {}, .current = "/", .temporary = "/tmp", .home = "/"});
  EXPECT_EQ(of_root.without({{"a", "/usr/bin"}}).at("a"), "/usr/bin");
}

}  // namespace
}  // namespace thinpipe
