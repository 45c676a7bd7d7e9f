// SPDX-License-Identifier: Apache-2.0
// The plan of a run's traffic.
#include "trainer/commands/check.hh"

#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

// One layer of 16 x 2 weights and 2 biases; 8 steps.
Json configuration(const Json& pruning, const Json& synchroniser) {
  return {{"workers", 2},
          {"model", {{"name", "mlp"}, {"hidden", Json::array()}}},
          {"dataset",
           {{"name", "synthetic"},
            {"height", 4},
            {"width", 4},
            {"classes", 2},
            {"train_examples", 64},
            {"test_examples", 2}}},
          {"training", {{"batch_size_per_worker", 4}}},
          {"pruning", pruning},
          {"synchroniser", synchroniser}};
}

Json answer(const Json& pruning, const Json& synchroniser) {
  return check_configurations(Json::array({configuration(pruning, synchroniser)})).front();
}

double payload(const Json& pruning, Json synchroniser = {{"name", "pactrain"}}) {
  const Json found = answer(pruning, synchroniser);
  EXPECT_TRUE(found["ok"].get<bool>()) << found.dump();
  return found["plan"]["payload_bytes_per_iteration"].get<double>();
}

TEST(Plan, CountsWhatTravelsOfAPrunedModel) {
  EXPECT_EQ(payload({{"ratio", 0}}), 4 * 34);
  EXPECT_EQ(payload({{"ratio", 0.5}}), 4 * (16 + 2 + 1));
  EXPECT_EQ(payload({{"ratio", 0.5}}, {{"name", "dense"}}), 4 * 34);
}

TEST(Plan, OptionsWithoutANameAreTheDefaults) {
  Json unnamed = configuration(Json::object(), {{"name", "dense"}});
  unnamed["optimiser"] = {{"learning_rate", 0.3}};
  Json named = unnamed;
  named["optimiser"]["name"] = "sgd";
  const Json answers = check_configurations(Json::array({unnamed, named}));
  EXPECT_EQ(answers[0]["config"]["optimiser"]["learning_rate"], 0.3);
  EXPECT_EQ(answers[0], answers[1]);
}

// The gradient's shares go to their owners, and from the owners around the ring.
TEST(Plan, TellsApartWhatGoesToAllOthersAndWhatGoesAroundTheRing) {
  const auto plan = [](const Json& method) { return answer({{"ratio", 0}}, method)["plan"]; };
  EXPECT_EQ(plan({{"name", "dense"}})["pairwise_bytes_per_iteration"], 0.0);
  const Json thc = plan({{"name", "thc"}, {"exchange", "sharded"}});
  const auto pairwise = thc["pairwise_bytes_per_iteration"].get<double>();
  EXPECT_GT(pairwise, 0);
  EXPECT_LT(pairwise, thc["sent_bytes_per_iteration"].get<double>());
}

// Two workers gather in the same round as four, but each gets the messages of three others instead of one.
TEST(Plan, CountsWhatEachWorkerGetsFromTheOthers) {
  const auto delivered = [](const Json& method, int workers) {
    Json config = configuration({{"ratio", 0}}, method);
    config["workers"] = workers;
    return check_configurations(Json::array({config}))
        .front()["plan"]["delivered_bytes_per_iteration"]
        .get<double>();
  };
  EXPECT_EQ(delivered({{"name", "dense"}}, 2), 4 * 34);
  EXPECT_EQ(delivered({{"name", "dense"}}, 4), 4 * 34);
  const Json gathers = {{"name", "qsgd"}};
  EXPECT_GT(delivered(gathers, 2), 0);
  EXPECT_EQ(delivered(gathers, 4), 3 * delivered(gathers, 2));
}

// The criterion removes 36 of 64 filters of 16 weights: 288 of the model's 609 blocks of two entries.
TEST(Plan, LeavesOutTheBlocksOfPrunedFilters) {
  const auto sent = [](const char* method, double ratio) {
    Json config =
        configuration({{"criterion", "filters"}, {"ratio", ratio}}, {{"name", method}, {"block_size", 2}});
    config["model"]["hidden"] = {64};
    if (config["synchroniser"]["name"] == "omnireduce") {
      config["synchroniser"].update({{"blocks_per_message", 1}, {"streams", 1}});
    }
    const Json found = check_configurations(Json::array({config})).front();
    EXPECT_TRUE(found["ok"].get<bool>()) << found;
    return found["plan"]["sent_bytes_per_iteration"].get<double>();
  };
  for (const char* method : {"omnireduce", "omnireduce_bulk"}) {
    EXPECT_NEAR(sent(method, 0.5) / sent(method, 0), 321.0 / 609, 0.02) << method;
  }
}

TEST(Plan, TakesAnObservedPatternForSettled) {
  EXPECT_EQ(payload({{"ratio", 0.5}}, {{"name", "pactrain"}, {"source", "observed"}}), 4 * (16 + 2 + 1));
}

// Pre-trained weights are not known yet. If the plan followed the seed nevertheless, a sweep over seeds would need a
// model and a mask for each.
TEST(Plan, OfPretrainedWeightsIsTheSameForAllSeeds) {
  const auto payloads = [](std::int64_t pretraining_iterations) {
    Json configurations = Json::array();
    for (int seed = 1; seed <= 20; ++seed) {
      Json each = configuration(
          {{"ratio", 0.9}},
          {{"name", "omnireduce"}, {"block_size", 4}, {"blocks_per_message", 1}, {"streams", 1}});
      each["seed"] = seed;
      each["pretraining"] = {{"iterations", pretraining_iterations}};
      configurations.push_back(std::move(each));
    }
    std::set<double> different;
    for (const Json& found : check_configurations(configurations))
      different.insert(found.at("plan").at("payload_bytes_per_iteration").get<double>());
    return different.size();
  };
  EXPECT_EQ(payloads(1), 1);
  EXPECT_GT(payloads(0), 1) << "the blocks of kept weights are others";
}

TEST(Plan, AveragesOverTheScheduleOfPruning) {
  EXPECT_EQ(payload({{"ratio", 0.5}, {"at_iteration", 2}}), (2 * 4 * 34 + 6 * 4 * 19) / 8.0);
}

TEST(Plan, RefusesPruningThatTheRunIsTooShortFor) {
  const Json found = answer({{"ratio", 0.5}, {"at_iteration", 3}, {"ramp_iterations", 5}, {"ramp_steps", 1}},
                            {{"name", "dense"}});
  EXPECT_EQ(found["pointer"], "/pruning/at_iteration");
  EXPECT_THAT(found["message"].get<std::string>(),
              HasSubstr("pruning ends after 8 steps, but the run has only 8"));
}

TEST(Plan, RefusesASchedulePartOfWhichIsAfterTheRun) {
  const auto answer_for = [](const Json& schedule) {
    Json config = configuration({{"ratio", 0}}, {{"name", "dense"}});
    config["schedule"] = schedule;
    config["training"]["epochs"] = 2;  // 16 steps
    return check_configurations(Json::array({config})).front();
  };
  EXPECT_TRUE(answer_for({{"warmup_iterations", 15}})["ok"].get<bool>());
  const Json long_warm_up = answer_for({{"warmup_iterations", 16}});
  EXPECT_EQ(long_warm_up["pointer"], "/schedule/warmup_iterations");
  EXPECT_THAT(long_warm_up["message"].get<std::string>(),
              HasSubstr("less than 16, the iterations of the run"));
  EXPECT_TRUE(answer_for({{"shape", "step"}, {"step_epochs", {1, 1.5}}})["ok"].get<bool>());
  const Json late_step = answer_for({{"shape", "step"}, {"step_epochs", {1, 2}}});
  EXPECT_EQ(late_step["pointer"], "/schedule/step_epochs");
  EXPECT_THAT(late_step["message"].get<std::string>(), HasSubstr("less than 2, the epochs of the run"));
}

TEST(Plan, RefusesToClipWhatHasNoLength) {
  const auto answer_for = [](const Json& synchroniser) {
    Json config = configuration({{"ratio", 0}}, synchroniser);
    config["training"]["clip_norm"] = 1;
    config["optimiser"] = {{"name", "sgd"}, {"momentum", 0}};
    return check_configurations(Json::array({config})).front();
  };
  const Json refused = answer_for({{"name", "signsgd"}});
  EXPECT_EQ(refused["pointer"], "/training/clip_norm");
  EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr("the synchroniser signsgd uses signs"));
  for (const std::string& name : SynchroniserRegistry::instance().names()) {
    if (name == "signsgd") continue;
    const Json found = answer_for({{"name", name}});
    EXPECT_NE(found.value("pointer", ""), "/training/clip_norm") << found;
  }
  EXPECT_TRUE(answer_for({{"name", "signsgd"}, {"momentum", 0.9}})["ok"].get<bool>());
}

TEST(Plan, RefusesMoreWorkersThanTheMethodsIntegersServe) {
  const auto answer_for = [](std::int64_t workers, const Json& synchroniser) {
    Json config = configuration({{"ratio", 0}}, synchroniser);
    config["workers"] = workers;
    config["dataset"]["train_examples"] = 1024;
    return check_configurations(Json::array({config})).front();
  };
  for (const Json& method : {Json{{"name", "terngrad"}}, Json{{"name", "signsgd"}},
                             Json{{"name", "pactrain"}, {"values", "ternary"}},
                             Json{{"name", "ef"}, {"inner", {{"name", "terngrad"}}}}}) {
    EXPECT_TRUE(answer_for(127, method)["ok"].get<bool>()) << method;
    const Json refused = answer_for(128, method);
    EXPECT_EQ(refused["pointer"], "/workers") << method;
    EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr("must be at most 127"));
  }
  const Json thc = {{"name", "thc"}, {"exchange", "all_reduce"}};
  EXPECT_EQ(answer_for(9, thc)["pointer"], "/workers");
  EXPECT_TRUE(answer_for(9, {{"name", "thc"}})["ok"].get<bool>());
  EXPECT_TRUE(answer_for(128, {{"name", "pactrain"}})["ok"].get<bool>());
}

TEST(Plan, RefusesWorkersThatCannotFormTheMethodsTeams) {
  Json config = configuration({{"ratio", 0}}, {{"name", "spardl"}, {"teams", 4}});
  config["workers"] = 6;
  const Json refused = check_configurations(Json::array({config})).front();
  EXPECT_EQ(refused["pointer"], "/workers");
  EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr("must be a multiple of 4"));
  config["workers"] = 12;
  EXPECT_TRUE(check_configurations(Json::array({config})).front()["ok"].get<bool>());
}

// Broadcast, gathered and shifted bytes are counted separately.
TEST(Plan, TellsHowBytesTravel) {
  const auto plan = [](const Json& method, const char* collective) {
    Json config = configuration({{"ratio", 0}}, method);
    config["workers"] = 8;
    config["collective"] = {{"name", collective}};
    return check_configurations(Json::array({config})).front()["plan"];
  };
  EXPECT_GT(plan({{"name", "iwp"}}, "ring")["broadcast_bytes_per_iteration"].get<double>(), 0);
  const Json spardl = plan({{"name", "spardl"}}, "ring");
  EXPECT_EQ(spardl["pairwise_bytes_per_iteration"], 0.0);
  const auto shifted = spardl["shifted_bytes_per_iteration"].get<std::vector<double>>();
  ASSERT_EQ(shifted.size(), 7);
  EXPECT_GT(shifted[0], 0);
  EXPECT_EQ(shifted[1], 2 * shifted[0]);
  EXPECT_EQ(shifted[2], 0);
  EXPECT_EQ(shifted[3], 4 * shifted[0]);
  // Two teams of four pass blocks on within themselves, one and two ranks further, and gather them one and two
  // ranks back; between that, each worker swaps a block with the one four ranks further.
  const Json teams = plan({{"name", "spardl"}, {"teams", 2}}, "ring");
  EXPECT_EQ(teams["gathered_bytes_per_iteration"], 0.0);
  const double block = teams["shifted_bytes_per_iteration"][3];
  EXPECT_EQ(teams["shifted_bytes_per_iteration"], (Json{0.0, 0.0, 0.0, block, 0.0, 0.0, 0.0}));
  EXPECT_EQ(teams["group_shifts_per_iteration"],
            Json::array({{{"workers", 4}, {"distance", 1}, {"bytes", block}},
                         {{"workers", 4}, {"distance", 2}, {"bytes", 4 * block}},
                         {{"workers", 4}, {"distance", 3}, {"bytes", block}}}));
  EXPECT_GT(plan({{"name", "qsgd"}}, "ring")["gathered_bytes_per_iteration"].get<double>(), 0);
  const Json ok_topk = plan({{"name", "ok_topk"}, {"vectors", "compressed"}}, "ring");
  const auto gathered = ok_topk["gathered_bytes_per_iteration"].get<double>();
  EXPECT_NEAR(gathered + ok_topk["pairwise_bytes_per_iteration"].get<double>(),
              ok_topk["sent_bytes_per_iteration"].get<double>(), 1e-9)
      << "nothing is all-reduced";
  // Eight workers' signs take one bit each around a ring; their sums take four bits along a tree.
  for (const char* method : {"terngrad", "signsgd", "thc"}) {
    EXPECT_EQ(plan({{"name", method}, {"exchange", "auto"}}, "ring")["codes_per_iteration"], 0.0) << method;
    EXPECT_GT(plan({{"name", method}, {"exchange", "auto"}}, "island")["codes_per_iteration"].get<double>(),
              0)
        << method;
  }
}

// Models and masks are created again only if they differ from the previous ones.
TEST(Check, AnswersTogetherWhatItAnswersOneByOne) {
  Json configurations = Json::array();
  const auto add = [&](std::int64_t hidden, const Json& pruning, const char* synchroniser) {
    Json& config = configurations.emplace_back(configuration(pruning, {{"name", synchroniser}}));
    config["model"]["hidden"] = {hidden, 10};
  };
  for (const std::int64_t hidden : {40, 9}) {
    for (const char* criterion : {"magnitude", "magnitude_per_layer"}) {
      for (const double ratio : {0.5, 0.25}) {
        for (const char* synchroniser : {"pactrain", "dense"})
          add(hidden, {{"ratio", ratio}, {"criterion", criterion}}, synchroniser);
      }
    }
  }
  Json one_by_one = Json::array();
  for (const Json& each : configurations)
    one_by_one.push_back(check_configurations(Json::array({each})).front());
  EXPECT_EQ(check_configurations(configurations), one_by_one);
  EXPECT_TRUE(one_by_one.front()["ok"].get<bool>()) << one_by_one.front();
}

TEST(Check, AnswersEachLineWithALine) {
  const Json good = configuration({{"ratio", 0.5}}, {{"name", "pactrain"}});
  Json bad = good;
  bad["workers"] = 0;
  std::istringstream in(fmt::format("{}\n{}\n{}\n", good.dump(), bad.dump(), good.dump()));
  std::stringstream out;
  check_lines(in, out);
  for (const Json& asked : {good, bad, good}) {
    std::string line;
    ASSERT_TRUE(std::getline(out, line));
    EXPECT_EQ(Json::parse(line), check_configurations(Json::array({asked})).front());
  }
  EXPECT_EQ(out.peek(), std::stringstream::traits_type::eof());
}

TEST(Check, ReadsWhatTheRunWouldNeedLater) {
  Json config = {
      {"workers", 1}, {"dataset", {{"name", "synthetic"}}}, {"collective", {{"timeout", "1 min"}}}};
  config["collective"]["name"] = "gloo";
  const auto pointer = [](const Json& given) {
    return check_configurations(Json::array({given})).front().value("pointer", "accepted");
  };
  EXPECT_EQ(pointer(config), "accepted");
  Json wrong = config;
  wrong["collective"]["timeout"] = "soon";
  EXPECT_EQ(pointer(wrong), "/collective/timeout");
  wrong = config;
  wrong["pretraining"]["dataset"] = {{"name", "synthetic"}, {"noise", 5}};
  EXPECT_EQ(pointer(wrong), "/pretraining/dataset/noise");
}

TEST(Plan, FillsInTheScheduleOfPruning) {
  const Json config = answer({{"criterion", "grasp"}, {"ratio", 0.5}, {"examples_per_class", 2}},
                             {{"name", "dense"}})["config"];
  EXPECT_EQ(config["pruning"], Json::parse(R"({"criterion": "grasp", "ratio": 0.5, "at_iteration": 0,
      "ramp_iterations": 0, "ramp_steps": 10, "update_mask_every_iterations": 0, "temperature": 200.0, "batches": 1,
      "examples_per_class": 2})"));
}

// Returns the answer for a data set whose files are missing; it has seven batches of 100 examples.
Json answer_without_files(const Json& dataset, const Json& pruning = {{"ratio", 0}}) {
  Json config = configuration(pruning, {{"name", "pactrain"}});
  config["dataset"] = dataset;
  const char* const key = dataset["name"] == "bytes" ? "path" : "directory";
  config["dataset"][key] = "/not/here";
  if (dataset["name"] != "bytes") config["dataset"]["train_examples"] = 700;
  config["training"]["batch_size_per_worker"] = 50;
  Json found = check_configurations(Json::array({config})).front();
  EXPECT_TRUE(found["ok"].get<bool>()) << found;
  EXPECT_EQ(found["missing"].size(), 1);
  EXPECT_EQ(found["missing"][0]["pointer"], std::string("/dataset/") + key);
  EXPECT_THAT(found["missing"][0]["message"].get<std::string>(), HasSubstr("/not/here"));
  EXPECT_EQ(found["content"], Json::parse(R"({"/dataset/)" + std::string(key) + R"(": null})"));
  return found;
}

TEST(Plan, NeedsOnlyTheSizesOfPublishedData) {
  const auto parameters = [](const char* name) {
    const Json plan = answer_without_files({{"name", name}})["plan"];
    EXPECT_EQ(plan["iterations"], 7) << name;
    return plan["parameters"].get<std::int64_t>();
  };
  EXPECT_EQ(parameters("mnist"), 10 * (28 * 28 + 1));
  EXPECT_EQ(parameters("fashion_mnist"), 10 * (28 * 28 + 1));
  EXPECT_EQ(parameters("cifar10"), 10 * (3 * 32 * 32 + 1));
  EXPECT_EQ(parameters("cifar100"), 100 * (3 * 32 * 32 + 1));
}

TEST(Plan, OfWhatOnlyTheFilesWouldTellIsNone) {
  EXPECT_TRUE(answer_without_files({{"name", "bytes"}})["plan"].is_null());
  const Json grasp = {{"criterion", "grasp"}, {"ratio", 0.5}};
  EXPECT_TRUE(answer_without_files({{"name", "mnist"}}, grasp)["plan"].is_null());
  const Json magnitude = {{"criterion", "magnitude"}, {"ratio", 0.5}};
  EXPECT_TRUE(answer_without_files({{"name", "mnist"}}, magnitude)["plan"].is_object());
}

TEST(Plan, IsMadeWithoutTheWeightsToStartFrom) {
  Json config = configuration({{"ratio", 0}}, {{"name", "dense"}});
  config["weights"] = {{"file", "/not/here.pt"}};
  const Json found = check_configurations(Json::array({config})).front();
  EXPECT_EQ(found["missing"][0]["pointer"], "/weights/file") << found;
  EXPECT_TRUE(found["content"]["/weights/file"].is_null());
  EXPECT_EQ(found["plan"], answer({{"ratio", 0}}, {{"name", "dense"}})["plan"]);
}

TEST(Plan, IsMadeWithoutTheGpus) {
  if (torch::cuda::is_available()) GTEST_SKIP() << "this machine has a GPU";
  Json config = configuration({{"ratio", 0}}, {{"name", "dense"}});
  config["compute"] = {{"device", "cuda"}};
  config["collective"] = {{"name", "nccl"}};
  const Json found = check_configurations(Json::array({config})).front();
  ASSERT_EQ(found["missing"].size(), 2) << found;
  EXPECT_EQ(found["missing"][0]["pointer"], "/compute/device");
  EXPECT_EQ(found["missing"][1]["pointer"], "/collective/name");
  EXPECT_TRUE(found["plan"].is_object());
  EXPECT_EQ(found["content"], Json::object());
}

}  // namespace
}  // namespace thinpipe::trainer
