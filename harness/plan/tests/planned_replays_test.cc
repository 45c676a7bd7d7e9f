// SPDX-License-Identifier: Apache-2.0
// The convergence runs that replays need.
#include <gtest/gtest.h>

#include "harness/plan/run_config.hh"
#include "harness/plan/tests/planning.hh"

namespace thinpipe {
namespace {

TEST(PlannedReplays, AReplaysConvergenceRunHasTheReplaysBuckets) {
  const auto runs = plan(R"({"base": {"mode": "simulate", "topology": "pair", "workers": 2,
                                      "compute_profile": "a40", "buckets": {"size": "auto"}}})");
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0].mode, Mode::converge);
  EXPECT_EQ(whole_config(runs[0]).at("buckets").at("size"), "1 MiB");
}

TEST(PlannedReplays, BeforeTheReplaysOfATrainingComesItsConvergenceRun) {
  const auto runs = plan(R"({"base": {"mode": "replay"},
                             "sweep": {"m": {"a": {}, "b": {"seed": 2}}, "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"]}})");
  ASSERT_EQ(runs.size(), 6);
  EXPECT_EQ(runs[0].mode, Mode::converge);
  EXPECT_EQ(runs[0].label, "a");  // the labels that its replays share
  EXPECT_TRUE(runs[0].leaves_trace);
  EXPECT_EQ(runs[0].folder, runs[1].folder) << "or their records spell the same path differently";
  EXPECT_FALSE(runs[0].needs_network);
  EXPECT_EQ(whole_config(runs[0]).at("workers"), 8);
  EXPECT_EQ(runs[1].label, "a, 100 Mbit/s");
  EXPECT_TRUE(runs[1].needs_network);
  EXPECT_EQ(runs[1].convergence_run, runs[0].id);
  EXPECT_EQ(runs[2].convergence_run, runs[0].id);
  EXPECT_EQ(runs[3].label, "b");
  EXPECT_EQ(runs[5].convergence_run, runs[3].id);
}

TEST(PlannedReplays, APatternThatMeansAReplayKeepsItsConvergenceRun) {
  const auto runs = plan(R"({"base": {"mode": "replay"},
                             "sweep": {"m": {"a": {}, "b": {"seed": 2}},
                                       "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"]}})",
                         "b, 1 Gbit/s");
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0].mode, Mode::converge);
  EXPECT_EQ(runs[0].label, "b") << "as if all runs were planned";
  EXPECT_EQ(runs[1].label, "b, 1 Gbit/s");
}

TEST(PlannedReplays, AReplaysConvergenceRunIsTheOneOfModeConverge) {
  const auto runs =
      plan(R"({"base": {}, "sweep": {"mode": {"replay": {"mode": "replay", "collective": {"name": "ring"}},
                                                     "live": {}, "converge": {"mode": "converge"}}}})");
  ASSERT_EQ(runs.size(), 3);
  EXPECT_EQ(runs[0].mode, Mode::converge);
  EXPECT_EQ(runs[0].label, "converge");
  EXPECT_TRUE(runs[0].leaves_trace);
  EXPECT_EQ(runs[1].label, "replay");
  EXPECT_EQ(runs[1].convergence_run, runs[0].id);
  EXPECT_EQ(runs[2].mode, Mode::live);
  EXPECT_NE(runs[1].id, runs[2].id);
}

TEST(PlannedReplays, ReplaysOverDifferentCollectivesShareTheirConvergenceRun) {
  const auto runs = plan(R"({"base": {"mode": "replay"}, "sweep": {"collective.name": ["gloo", "ring"]}})");
  ASSERT_EQ(runs.size(), 3);
  EXPECT_EQ(runs[1].convergence_run, runs[0].id);
  EXPECT_EQ(runs[2].convergence_run, runs[0].id);
  EXPECT_FALSE(described_plan(runs[0]).contains("collective"));
  EXPECT_FALSE(whole_config(runs[0]).contains("reduction_tree"));
}

TEST(PlannedReplays, ReplaysAlongATreeHaveAConvergenceRunThatSumsAlongIt) {
  const auto runs = plan(R"({"base": {"mode": "replay"},
                             "sweep": {"collective.name": ["island", "auto", "gloo"],
                                       "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"]}})");
  ASSERT_EQ(runs.size(), 8);
  const auto& along_the_tree = runs[0];
  EXPECT_EQ(along_the_tree.mode, Mode::converge);
  EXPECT_EQ(along_the_tree.reduction_tree, runs[1].reduction_tree);
  EXPECT_EQ(whole_config(along_the_tree).at("reduction_tree"), Json(runs[1].reduction_tree));
  EXPECT_EQ(runs[4].label, "auto, 1 Gbit/s");
  for (std::size_t i = 1; i <= 4; ++i) EXPECT_EQ(runs[i].convergence_run, along_the_tree.id);
  EXPECT_EQ(runs[5].mode, Mode::converge);
  EXPECT_TRUE(runs[5].reduction_tree.empty());
  EXPECT_EQ(runs[7].convergence_run, runs[5].id);
}

}  // namespace
}  // namespace thinpipe
