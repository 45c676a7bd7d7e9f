// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/run_plan.hh"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/plan/prediction.hh"
#include "harness/plan/resource_estimate.hh"
#include "harness/plan/run_config.hh"
#include "harness/plan/run_id.hh"
#include "harness/plan/tests/planning.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(PlanRuns, PathsLeadOnFromTheExperimentsFolder) {
  const auto read = [](const std::string& base) {
    Topologies topologies("/some/where/e.json");
    const Experiment experiment = parse_experiment(R"({"base": )" + base + "}", "/some/where/e.json");
    Json whole = expand(experiment).front().config();
    const Json controller_part = take_controller_part(whole);
    return training_part(whole, read_controller_part(controller_part, topologies), topologies.folder());
  };
  const Json config = read(R"({"weights": {"file": "mine.pt"}, "dataset": {"path": "../text.txt"},
                               "pretraining": {"dataset": {"directory": "data"}}})");
  EXPECT_EQ(config.at("weights").at("file"), "/some/where/mine.pt");
  EXPECT_EQ(config.at("dataset").at("path"), "/some/text.txt");
  EXPECT_EQ(config.at("pretraining").at("dataset").at("directory"), "/some/where/data");
  EXPECT_EQ(read(R"({"weights": {"file": "/mine.pt"}})").at("weights").at("file"), "/mine.pt");
  EXPECT_EQ(read(R"({"weights": {"file": 3}})").at("weights").at("file"), 3) << "the trainer refuses it";
}

// Records from before partitions have ids of configurations without one.
TEST(PlanRuns, ARunWithoutAPartitionKeepsItsName) {
  const Json older = {{"workers", 2}, {"dataset", {{"name", "d"}}}};
  const auto with_partition = [&](const Json& partition) {
    Json config = older;
    config["partition"] = partition;
    return run_id(config);
  };
  EXPECT_EQ(with_partition({{"name", "iid"}}), run_id(older));
  EXPECT_NE(with_partition({{"name", "by_source"}}), run_id(older));
  EXPECT_NE(with_partition({{"name", "dirichlet"}, {"alpha", 1}}),
            with_partition({{"name", "dirichlet"}, {"alpha", 2}}));
}

// Records from before an option existed have ids of configurations without it.
TEST(PlanRuns, AMethodWithoutALaterOptionKeepsItsName) {
  struct Later {
    const char* method;
    Json unchanged;
    Json changed;
  };
  const std::vector<Later> options = {{"gmc", {{"sparsifier", "top_k"}}, {{"sparsifier", "random_block"}}},
                                      {"gmc", {{"detached", 0}}, {{"detached", 0.3}}},
                                      {"iwp", {{"alpha", 0.01}}, {{"alpha", 1}}},
                                      {"ok_topk", {{"vectors", "dense"}}, {{"vectors", "compressed"}}},
                                      {"sbc", {{"vectors", "dense"}}, {{"vectors", "compressed"}}},
                                      {"spardl", {{"vectors", "dense"}}, {{"vectors", "compressed"}}},
                                      {"spardl", {{"teams", 1}}, {{"teams", 2}}},
                                      {"topk", {{"vectors", "dense"}}, {{"vectors", "compressed"}}}};
  for (const Later& later : options) {
    const auto with = [&](const Json& option, bool is_wrapped) {
      Json method = {{"name", later.method}, {"ratio", 0.01}};
      method.update(option);
      if (is_wrapped) method = {{"name", "accordion"}, {"inner", method}};
      return run_id({{"synchroniser", method}});
    };
    for (const bool is_wrapped : {false, true}) {
      EXPECT_EQ(with(later.unchanged, is_wrapped), with(Json::object(), is_wrapped)) << later.unchanged;
      EXPECT_NE(with(later.changed, is_wrapped), with(Json::object(), is_wrapped)) << later.changed;
    }
  }
}

TEST(PlanRuns, ARunWithRank0sRunningStatisticsKeepsItsName) {
  const auto with_training = [](const Json& training) { return run_id({{"training", training}}); };
  const Json older = {{"epochs", 1}};
  EXPECT_EQ(with_training({{"epochs", 1}, {"running_statistics", "rank_0"}}), with_training(older));
  EXPECT_NE(with_training({{"epochs", 1}, {"running_statistics", "mean"}}), with_training(older));
}

TEST(PlanRuns, FillsInEveryDefaultAndResolvesTheTopology) {
  const auto runs = plan(R"({"base": {"bottleneck": {"rate": "200 Mbit/s"}}})");
  ASSERT_EQ(runs.size(), 1);
  const Json config = whole_config(runs[0]);
  EXPECT_EQ(config.at("mode"), "live");
  EXPECT_EQ(config.at("workers"), 8);
  EXPECT_EQ(config.at("topology").at("name"), "three-switch");
  EXPECT_EQ(config.at("bottleneck"), Json({{"rate", "200 Mbit/s"}}));
  EXPECT_EQ(config.at("synchroniser").at("name"), "dense");
  EXPECT_EQ(runs[0].training->config.at("workers"), 8);
  EXPECT_FALSE(runs[0].training->config.contains("topology"));
  EXPECT_TRUE(runs[0].needs_network);
}

TEST(PlanRuns, AutoGoesAlongTheTreeWhereThatTakesLessTimeThanARing) {
  const auto chosen = [](const std::string& base) {
    const auto runs = plan(R"({"base": {"collective": {"name": "auto"}, )" + base + "}}");
    EXPECT_EQ(runs[0].reduction_tree.empty(), runs[0].collective != "island");
    EXPECT_EQ(described_plan(runs[0]).at("collective"), runs[0].collective);
    return runs[0].collective;
  };
  EXPECT_EQ(chosen(R"("topology": "three-switch")"), "island");
  EXPECT_EQ(chosen(R"("topology": "two-rack")"), "island");
  EXPECT_EQ(chosen(R"("topology": "wan-4-sites")"), "island");
  EXPECT_EQ(chosen(R"("topology": "loopback", "workers": 2)"), "island");
  // Every host's own link is capped. Inner workers of the tree send and receive the most.
  EXPECT_EQ(chosen(R"("topology": "star")"), "ring");
  EXPECT_EQ(chosen(R"("topology": "pair")"), "ring");
}

TEST(PlanRuns, BucketSizesLeftToTheNetworkAreChosenBeforeARunHasItsName) {
  const auto planned = [](const char* size, const char* topology) {
    return plan(fmt::format(R"({{"base": {{"topology": "{}", "workers": 2, "buckets": {{"size": {}}}}}}})",
                            topology, size))[0];
  };
  const auto chosen = planned(R"("auto")", "pair");
  EXPECT_EQ(whole_config(chosen).at("buckets").at("size"), "1 MiB");  // a gradient of 400 bytes
  EXPECT_EQ(chosen.training->config.at("buckets").at("size"), "1 MiB");
  EXPECT_EQ(chosen.id, planned(R"("1 MiB")", "pair").id);
  EXPECT_EQ(whole_config(planned(R"("auto")", "loopback")).at("buckets").at("size"), "auto");
}

TEST(PlanRuns, OnlyRunsWhoseBucketSizeIsOpenAreCheckedAgain) {
  const std::string base =
      R"({"base": {"topology": "pair", "workers": 2}, "sweep": {"buckets.size": ["25 MiB", "auto", "2 MiB"]}})";
  const auto runs = plan(base);
  ASSERT_EQ(runs.size(), 3);
  const char* const sizes[] = {"25 MiB", "1 MiB", "2 MiB"};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(whole_config(runs[i]).at("buckets").at("size"), sizes[i]);
    const auto alone = plan(fmt::format(
        R"({{"base": {{"topology": "pair", "workers": 2, "buckets": {{"size": "{}"}}}}}})", sizes[i]))[0];
    EXPECT_EQ(runs[i].id, alone.id);
    EXPECT_EQ(described_plan(runs[i]), described_plan(alone));
  }
}

TEST(PlanRuns, RefusesWhatAModeCannotDo) {
  EXPECT_THAT(refusal_of(R"({"base": {"mode": "converge", "collective": {"name": "ring"}}})"),
              HasSubstr("/base/collective: does not work in mode \"converge\""));
  EXPECT_THAT(refusal_of(R"({"base": {"compute_profile": "a.json"}})"),
              HasSubstr("/base/compute_profile: works only in modes \"replay\" and \"simulate\""));
  EXPECT_THAT(refusal_of(R"({"base": {"mode": "replay", "compute_profile": "a.json"}})"),
              HasSubstr("the compute profile a.json does not exist"));
  EXPECT_THAT(refusal_of(R"({"base": {"mode": "replay", "compute_profile": "a4"}})"),
              HasSubstr("/base/compute_profile: unknown compute profile \"a4\"; did you mean \"a40\"?"));
  EXPECT_THAT(refusal_of(R"({"base": {"mode": "replay", "compute_profile": {"batch_size_per_worker": 32}}})"),
              HasSubstr("/base/compute_profile: \"device\" is missing"));
  EXPECT_THAT(refusal_of(R"({"base": {"mode": "replay", "worker_events": [{"worker": 0, "slowdown": 2}]}})"),
              HasSubstr("/base/worker_events: works only in modes \"live\" and \"cluster\""));
  EXPECT_THAT(refusal_of(R"({"base": {"mode": "converge", "topology": "pair"}})"),
              HasSubstr("/base/topology: does not work in mode \"converge\""));
}

TEST(PlanRuns, OfAClusterLeaveTheNetworkToItsMeasurement) {
  const auto runs =
      plan(R"({"base": {"mode": "cluster", "topology": "cluster-4", "collective": {"name": "auto"}}})");
  ASSERT_EQ(runs.size(), 1);
  EXPECT_EQ(runs[0].workers, 4);
  EXPECT_EQ(runs[0].mode, Mode::cluster);
  EXPECT_EQ(runs[0].collective, "island");
  EXPECT_FALSE(runs[0].needs_network);
  EXPECT_EQ(predict_exchange_s(runs[0]), std::nullopt);
  const ComputeCost of_a_worker{.compute_s = 1, .memory_bytes = 1e6};
  EXPECT_EQ(estimate_resources(runs[0], of_a_worker, {.cores = 2, .free_memory_bytes = 1e9}).memory_bytes,
            1e6);
}

TEST(PlanRuns, RefuseWhatARealNetworkCannotDo) {
  EXPECT_THAT(
      refusal_of(R"({"base": {"topology": "cluster-4"}})"),
      HasSubstr(
          "/base/topology: the topology \"cluster-4\" is of kind \"cluster\", which works only in mode"));
  EXPECT_THAT(refusal_of(R"({"base": {"mode": "cluster", "topology": "pair"}})"),
              HasSubstr("/base/topology: must be of kind \"cluster\" in mode \"cluster\""));
  const auto refused = [](const std::string& further) {
    return refusal_of(R"({"base": {"mode": "cluster", "topology": "cluster-4", )" + further + "}}");
  };
  EXPECT_THAT(refused(R"("bottleneck": {"rate": "1 Gbit/s"})"), HasSubstr("whose network is real"));
  EXPECT_THAT(refused(R"("compute_profile": "a40")"), HasSubstr("compute themselves"));
  EXPECT_THAT(refused(R"("worker_events": [{"worker": 0, "action": "kill", "at_iteration": 1}])"),
              HasSubstr("/base/worker_events/0/action: does not work in mode \"cluster\""));
}

TEST(PlanRuns, WritingADefaultOutDoesNotChangeTheIdentity) {
  EXPECT_EQ(plan(R"({"base": {"topology": "loopback"}})")[0].id,
            plan(R"({"base": {"workers": 2, "seed": 1, "mode": "live", "topology": "loopback"}})")[0].id);
  EXPECT_NE(plan(R"({"base": {"topology": "loopback"}})")[0].id,
            plan(R"({"base": {"topology": "loopback", "seed": 2}})")[0].id);
}

TEST(PlanRuns, AComputeProfileIsTheSameHoweverItIsWritten) {
  const auto id = [](const char* profile) {
    return plan(fmt::format(R"({{"base": {{"mode": "simulate", "compute_profile": {}}}}})", profile).c_str())
        .back()
        .id;
  };
  EXPECT_EQ(id(R"({"device": "a40"})"), id(R"("a40")"));
  EXPECT_EQ(id(R"({"device": "a40", "batch_size_per_worker": null})"), id(R"("a40")"));
  EXPECT_NE(id(R"({"device": "a40", "batch_size_per_worker": 4})"), id(R"("a40")"));
}

TEST(PlanRuns, ATrainingThatIsAlsoAPointHasItsOwnHold) {
  const auto runs = plan(R"({"base": {}, "sweep": {"m": {"replay": {"mode": "replay", "hold": 3},
                                                        "train": {"mode": "converge", "hold": 1}}}})");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].label, "train");
  EXPECT_EQ(runs[0].training->config.at("hold"), 1);
  EXPECT_EQ(runs[1].training->config.at("hold"), 3);
}

TEST(PlanRuns, IdenticalPointsAreOneRun) {
  const auto runs = plan(R"({"base": {}, "sweep": {"m": {"a": {"seed": 1}, "b": {"seed": 2}, "c": {}}}})");
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0].label, "a");
}

TEST(PlanRuns, PointsThatDifferOnlyInHoldAreRefused) {
  EXPECT_THAT(refusal_of(R"({"base": {}, "sweep": {"hold": [1, 3]}})"),
              StartsWith("e.json at /sweep: has points that differ only in \"hold\""));
}

// Otherwise a plan of 10,000 runs over few networks would hold, hash and check the same data repeatedly.
TEST(PlanRuns, RunsShareTheSettingOrTheTrainingThatTheyHaveInCommon) {
  const auto runs = plan(
      R"({"base": {}, "sweep": {"seed": [1, 2], "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s", "1000 Mbit/s"]}})");
  ASSERT_EQ(runs.size(), 4) << "1000 Mbit/s are 1 Gbit/s";
  EXPECT_EQ(runs[0].training, runs[1].training);
  EXPECT_EQ(runs[0].setting, runs[2].setting);
  EXPECT_NE(runs[0].setting, runs[1].setting);
  EXPECT_NE(runs[0].training, runs[2].training);
}

TEST(PlanRuns, TheTrainersRefusalLeadsBackToTheFile) {
  EXPECT_EQ(
      refusal_of(
          R"({"base": {}, "sweep": {"m": {"half": {"synchroniser": {"name": "topk", "ratio": 1.5}}}}})"),
      "e.json at /sweep/m/half/synchroniser/ratio: must be above 0 and at most 1, but is 1.5");
  EXPECT_EQ(
      refusal_of(R"({"base": {"synchroniser": {"name": "topkk"}}})"),
      "e.json at /base/synchroniser/name: unknown name \"topkk\"; did you mean \"topk\"? known: dense, fp16, "
      "topk");
}

TEST(PlanRuns, AMisspeltKeyOfTheHarnessGetsItsSuggestion) {
  EXPECT_THAT(refusal_of(R"({"base": {"topolgy": "loopback"}})"),
              StartsWith("e.json at /base/topolgy: unknown key \"topolgy\"; did you mean \"topology\"?"));
}

TEST(PlanRuns, TheHarnesssOwnRules) {
  EXPECT_THAT(refusal_of(R"({"base": {"topology": "three-swich"}})"),
              AllOf(StartsWith("e.json at /base/topology: unknown topology"),
                    HasSubstr("did you mean \"three-switch\"?")));
  EXPECT_THAT(refusal_of(R"({"base": {"topology": "mine.json"}})"), HasSubstr("mine.json does not exist"));
  EXPECT_THAT(refusal_of(R"({"base": {"workers": 9}})"),
              StartsWith("e.json at /base/workers: must be at most 8, the number of hosts of the topology"));
  EXPECT_THAT(refusal_of(R"({"base": {"workers": 0}})"),
              StartsWith("e.json at /base/workers: must be at least 1"));
  EXPECT_THAT(refusal_of(R"({"base": {"mode": "lvie"}})"), HasSubstr("/base/mode: unknown name \"lvie\""));
  EXPECT_THAT(refusal_of(R"({"base": {}, "sweep": {"bottleneck.rate": ["100 Mbps"]}})"),
              StartsWith("e.json at /sweep/bottleneck.rate/0: unknown unit \"Mbps\""));
  EXPECT_THAT(refusal_of(R"({"base": {"bottleneck": {"rat": "1 Gbit/s"}}})"),
              StartsWith("e.json at /base/bottleneck/rat: unknown key \"rat\"; did you mean \"rate\"?"));
  EXPECT_THAT(refusal_of(R"({"base": {"bottleneck": {"rate": "1 Gbit/s", "burst": "32 kB"}}})"),
              StartsWith("e.json at /base/bottleneck/burst: "));
  EXPECT_THAT(refusal_of(R"({"base": {"bottleneck": {"rate": "1 Gbit/s", "burst": "1 s"}}})"),
              StartsWith("e.json at /base/bottleneck/burst: "));
  EXPECT_THAT(refusal_of(R"({"base": {"topology": "loopback", "bottleneck": {"rate": "1 Gbit/s"}}})"),
              StartsWith("e.json at /base/bottleneck/rate: "));
}

TEST(PlanRuns, WorkersAreToldTheCollectiveThatWasDecided) {
  const auto run = plan(R"({"base": {"topology": "star", "collective": {"name": "auto"}}})")[0];
  EXPECT_EQ(whole_config(run).at("collective").at("name"), "auto") << "as the user wrote it";
  EXPECT_EQ(worker_config(run).at("collective").at("name"), "ring");
  const auto other = plan(R"({"base": {"trainer": "pytorch-ddp", "collective": {"name": "auto"}}})")[0];
  EXPECT_EQ(other.collective, "gloo");
  EXPECT_EQ(worker_config(other), other.training->config) << "an external trainer has its own collectives";
}

TEST(PlanRuns, SimulationsStreamAroundTheRingOnly) {
  const auto routing = [](const char* collective) {
    return routing_of(plan(
        fmt::format(R"({{"base": {{"topology": "star", "collective": {{"name": "{}"}}}}}})", collective))[0]);
  };
  EXPECT_TRUE(routing("ring").is_streamed);
  EXPECT_FALSE(routing("gloo").is_streamed);
  EXPECT_THAT(routing("ring").reduction_tree, testing::IsEmpty());
  EXPECT_THAT(routing("island").reduction_tree, testing::Not(testing::IsEmpty()));
}

TEST(TrainerProgram, AProgramThatFailsIsNamed) {
  EXPECT_THROW(TrainerProgram("/bin/false").describe(), Error);
  EXPECT_THROW(ConfigChecker(TrainerProgram("/bin/echo")).check("{}"), Error);
}

}  // namespace
}  // namespace thinpipe
