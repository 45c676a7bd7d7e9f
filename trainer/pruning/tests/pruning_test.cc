// SPDX-License-Identifier: Apache-2.0
// The configuration of pruning, and random pruning.
#include "trainer/pruning/pruning.hh"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/pruning/mask_summary.hh"
#include "trainer/pruning/tests/two_layers.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Place pruning_place{"experiment.json", "/pruning"};

std::string refusal(const Json& value) {
  try {
    make_pruning(value, pruning_place);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Pruning, DefaultsToMagnitudeAndExplainsWhatIsWrong) {
  EXPECT_EQ(refusal({{"ratio", 0.5}}), "accepted");
  EXPECT_EQ(refusal({{"ratio", 0.99}}), "accepted");
  EXPECT_THAT(
      refusal({{"criterion", "magnitud"}}),
      HasSubstr(
          "experiment.json at /pruning/criterion: unknown name \"magnitud\"; did you mean \"magnitude\"?"));
  EXPECT_THAT(refusal({{"ratio", 1.0}}), HasSubstr("/pruning/ratio: must be at least 0 and at most 0.99"));
  EXPECT_THAT(refusal({{"raito", 0.5}}), HasSubstr("did you mean \"ratio\"?"));
  EXPECT_THAT(refusal({{"at_iteration", -1}}), HasSubstr("/pruning/at_iteration: must be at least 0"));
  EXPECT_THAT(refusal({{"criterion", "grasp"}, {"temperature", 0}}),
              HasSubstr("/pruning/temperature: must be above 0"));
  EXPECT_THAT(refusal({{"criterion", "magnitude"}, {"temperature", 200}}),
              HasSubstr("unknown key \"temperature\""));
  EXPECT_THAT(refusal({{"ratio", 0.5}, {"ramp_iterations", 5}, {"ramp_steps", 6}}),
              HasSubstr("/pruning/ramp_steps: must be at most ramp_iterations, which is 5, but is 6"));
}

TEST(Pruning, ListsTheSchedulesOptionsWithEachCriterionsOwn) {
  for (const auto& [name, entry] : PruningRegistry::instance().entries()) {
    std::vector<std::string> keys;
    for (const Json& option : entry.options) keys.push_back(option["key"]);
    ASSERT_GE(keys.size(), 5U) << name;
    EXPECT_THAT(std::vector(keys.begin(), keys.begin() + 5),
                ElementsAre("ratio", "at_iteration", "ramp_iterations", "ramp_steps",
                            "update_mask_every_iterations"));
    if (name == "grasp") {
      EXPECT_THAT(std::vector(keys.begin() + 5, keys.end()),
                  ElementsAre("temperature", "batches", "examples_per_class"));
    }
  }
}

Mask prune_at_random(Model& model, double ratio, std::uint64_t seed, const Mask* in_force = nullptr) {
  const auto dataset = testing::synthetic();
  const Pruning pruning = make_pruning({{"criterion", "random"}}, pruning_place);
  return pruning.criterion->choose(model, {.dataset = *dataset, .seed = seed, .in_force = in_force}, ratio);
}

TEST(RandomPruning, RemovesTheAskedNumberWhateverTheWeights) {
  trainer::testing::TwoLayers model(std::vector<float>(700, 1), std::vector<float>(300, 1e6F));
  trainer::testing::TwoLayers other(std::vector<float>(700, -3), std::vector<float>(300, 0));
  const Mask mask = prune_at_random(model, 0.6, 4);
  EXPECT_EQ(mask.kept(), 400);
  // Five standard deviations of a binomial draw.
  EXPECT_NEAR(static_cast<double>(mask.layers()[0].kept()), 0.4 * 700, 5 * 13);
  EXPECT_EQ(mask.hash(), prune_at_random(other, 0.6, 4).hash());
  EXPECT_NE(mask.hash(), prune_at_random(model, 0.6, 5).hash());
}

TEST(RandomPruning, AHigherRatioRemovesMoreOfTheSame) {
  trainer::testing::TwoLayers model(std::vector<float>(70, 1), std::vector<float>(30, 1));
  const std::string less = testing::bits_of(prune_at_random(model, 0.3, 1));
  const std::string more = testing::bits_of(prune_at_random(model, 0.8, 1));
  for (std::size_t i = 0; i < less.size(); ++i) EXPECT_FALSE(less[i] == '0' && more[i] == '1') << i;
  EXPECT_EQ(std::ranges::count(less, '0'), 30);
  EXPECT_EQ(std::ranges::count(more, '0'), 80);
}

TEST(MaskSummary, CountsEveryLayer) {
  trainer::testing::TwoLayers model({1, 2, 3, 4}, {5, 6});
  const Mask mask({{"fc1.weight", torch::tensor({1, 0, 0, 1}).to(torch::kBool).view({1, 4})},
                   {"fc2.weight", torch::tensor({0, 1}).to(torch::kBool).view({1, 2})}});
  EXPECT_EQ(summarise(mask), Json::parse(R"([{"name": "fc1.weight", "weights": 4, "kept": 2},
                                             {"name": "fc2.weight", "weights": 2, "kept": 1}])"));
}

}  // namespace
}  // namespace thinpipe::trainer
