// SPDX-License-Identifier: Apache-2.0
// Which runs a pattern chooses, and what the trainer is asked about.
#include <fstream>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "harness/plan/run_labels.hh"
#include "harness/plan/tests/planning.hh"

namespace thinpipe {
namespace {

TEST(ChosenRuns, APatternChoosesByTheWholeLabelOrByOneOfThem) {
  const auto chosen = [](const std::string& only) {
    return plan(
        R"({"base": {}, "sweep": {"m": {"a": {"seed": 1}, "b": {"seed": 2}}, "targets": [[0.1], [0.2]]}})",
        only);
  };
  EXPECT_EQ(chosen("").size(), 4);
  EXPECT_EQ(chosen("a").size(), 2);
  EXPECT_EQ(chosen("a, *1*").size(), 1);
  EXPECT_THROW(chosen("c*"), InputError);
}

std::vector<std::string> names_of(const std::vector<Run>& runs) {
  std::vector<std::string> out;
  for (const Run& run : runs) out.push_back(run.id + " " + run.label + (run.leaves_trace ? " traced" : ""));
  return out;
}

// Whatever it chooses, a plan of a part has the ids, labels and order of the whole plan.
TEST(ChosenRuns, APatternFindsWhatItWouldFindAmongAllRuns) {
  const std::string text = R"({"base": {"topology": "pair", "workers": 2, "buckets": {"size": "auto"}},
      "sweep": {"mode": {"live": {}, "replayed": {"mode": "replay"}},
                "how": {"ring": {"collective": {"name": "ring"}}, "tree": {"collective": {"name": "island"}}},
                "bottleneck.rate": {"slow": {"bottleneck": {"rate": "100 Mbit/s"}},
                                    "fast": {"bottleneck": {"rate": "1 Gbit/s"}}},
                "seed": [1, 2]}})";
  const auto all = plan(text);
  ASSERT_EQ(all.size(), 20);
  std::set<std::string> patterns = {"replayed", "tree", "2", "*fast*", "*", "ring, 1", "live, *, 2"};
  for (const auto& run : all) patterns.insert(run.label);
  for (const std::string& pattern : patterns)
    EXPECT_EQ(names_of(plan(text, pattern)), names_of(matching(all, pattern))) << pattern;
}

// A trainer that writes down what it is asked.
class AskedTrainer {
 public:
  AskedTrainer() {
    std::ofstream(path()) << "#!/bin/sh\nwhile read -r line; do\n"
                          << R"(printf '%s\n' "$line" >> "$0.asked"; printf '%s\n' "$line")"
                          << "\ndone | " << trainer().path() << " \"$@\"\n";
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }

  // Returns the configurations that planning the experiment asks about.
  std::vector<Json> configs(const std::string& text, const std::string& only = {}) const {
    std::filesystem::remove(path() + ".asked");
    plan_runs(parse_experiment(text, "e.json"), TrainerProgram(path()), only);
    std::vector<Json> out;
    std::ifstream asked(path() + ".asked");
    for (std::string line; std::getline(asked, line);) out.push_back(Json::parse(line));
    return out;
  }

 private:
  std::string path() const { return (folder_.path() / "trainer").string(); }

  TemporaryFolder folder_;
};

TEST(ChosenRuns, TheTrainerChecksOnlyTheRunsThatAPatternChooses) {
  const std::string sweep = R"({"base": {"mode": "replay"},
      "sweep": {"m": {"a": {}, "b": {"seed": 2}, "bad": {"synchroniser": {"name": "topk", "ratio": 1.5}}},
                "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"]}})";
  const auto asked = AskedTrainer().configs(sweep, "b, 1 Gbit/s");
  ASSERT_EQ(asked.size(), 1);
  EXPECT_EQ(asked[0].at("seed"), 2);
  EXPECT_THROW(AskedTrainer().configs(sweep, "bad"), InputError);
}

TEST(ChosenRuns, AChosenBucketSizeIsCheckedWhileTheTrainerStillHasTheModel) {
  const auto asked = AskedTrainer().configs(
      R"({"base": {"topology": "pair", "workers": 2, "buckets": {"size": "auto"}},
          "sweep": {"seed": [1, 2], "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"]}})");
  std::vector<std::pair<int, std::string>> seeds_and_sizes;
  for (const Json& config : asked)
    seeds_and_sizes.emplace_back(config.at("seed"), config.at("buckets").at("size"));
  EXPECT_EQ(seeds_and_sizes,
            (std::vector<std::pair<int, std::string>>{{1, "auto"}, {1, "1 MiB"}, {2, "auto"}, {2, "1 MiB"}}));
}

}  // namespace
}  // namespace thinpipe
