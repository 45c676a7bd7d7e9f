// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/pruning/pruning.hh"
#include "trainer/pruning/tests/two_layers.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

const Place magnitude_place{"experiment.json", "/pruning"};

using trainer::testing::TwoLayers;

// Returns the kept weights as 0 and 1, with a space between layers.
std::string prune(Model& model, double ratio, const std::string& criterion = "magnitude",
                  const Mask* in_force = nullptr) {
  const Pruning pruning = make_pruning({{"criterion", criterion}, {"ratio", ratio}}, magnitude_place);
  const auto dataset = testing::synthetic();
  const PruningContext context{.dataset = *dataset, .in_force = in_force};
  return testing::bits_of(pruning.criterion->choose(model, context, ratio));
}

std::string prune(const std::vector<float>& first, const std::vector<float>& second, double ratio) {
  TwoLayers model(first, second);
  return prune(model, ratio);
}

TEST(Magnitude, RemovesTheSmallestOverAllLayersTogether) {
  EXPECT_EQ(prune({0.1F, -5, 3}, {-0.2F, 4, 0.3F}, 0.5), "011 010");
  EXPECT_EQ(prune({0.1F, 0.2F, 9, 0.3F}, {7, -8}, 0.5), "0010 11");
}

TEST(Magnitude, RemovesTheWholePartOfRatioTimesWeights) {
  const std::vector<float> first = {1, 2, 3};
  const std::vector<float> second = {4, 5};
  EXPECT_EQ(prune(first, second, 0), "111 11");
  EXPECT_EQ(prune(first, second, 0.19), "111 11");
  EXPECT_EQ(prune(first, second, 0.2), "011 11");
  EXPECT_EQ(prune(first, second, 0.59), "001 11");
}

TEST(Magnitude, OfEqualsTheLowestIndexGoesFirst) {
  EXPECT_EQ(prune({1, -1, 1}, {1, -1, 1}, 0.5), "001 011");
  EXPECT_EQ(prune({0, -0.0F, 2}, {0, 2, 2}, 0.34), "001 111");
  EXPECT_EQ(prune({2, 1, 1}, {1, 1, 2}, 0.5), "100 011");
}

TEST(Magnitude, KeepsOneWeightInEveryLayerAndTakesTheNextElsewhere) {
  // Without the exemption 1 2 3 would be pruned; 3 is fc1's largest weight, so 10 is pruned in its place.
  EXPECT_EQ(prune({1, 3, 2}, {10, 11, 12}, 0.5), "010 011");
  // Among equals the layer's last weight stays, because it is last in the ranking.
  EXPECT_EQ(prune({1, 1, 1}, {10, 11, 12}, 0.5), "001 011");
}

TEST(Magnitude, RemovesAllButOneOfEachLayerWhenAskedForMore) {
  EXPECT_EQ(prune({1, 3, 2}, {10, 11, 12}, 0.99), "010 001");
}

TEST(Magnitude, PrunesExactlyTheAskedNumberAtEverySize) {
  torch::manual_seed(5);
  for (const std::int64_t size : {1, 2, 3, 7, 8, 9, 255, 256, 257, 1025}) {
    const torch::Tensor weights = torch::randint(-4, 5, {size}).to(torch::kFloat32);  // many ties
    const std::vector<float> first(weights.data_ptr<float>(), weights.data_ptr<float>() + size);
    for (const double ratio : {0.0, 0.3, 0.5, 0.9}) {
      const std::string kept = prune(first, {1, 2}, ratio);
      const auto removed = std::count(kept.begin(), kept.end(), '0');
      const auto asked = static_cast<std::int64_t>(std::floor(ratio * static_cast<double>(size + 2)));
      EXPECT_EQ(removed, std::min(asked, size + 2 - 2)) << size << " weights, ratio " << ratio;
    }
  }
}

TEST(Magnitude, AgreesWithAStableSortOfAllWeights) {
  torch::manual_seed(6);
  const torch::Tensor weights = torch::randint(-50, 51, {600}).to(torch::kFloat32);
  const std::vector<float> all(weights.data_ptr<float>(), weights.data_ptr<float>() + 600);
  std::vector<std::size_t> order(600);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(all[a]) < std::abs(all[b]); });
  std::string expected(600, '1');
  for (std::size_t i = 0; i < 420; ++i) expected[order[i]] = '0';
  expected.insert(200, 1, ' ');
  EXPECT_EQ(prune({all.begin(), all.begin() + 200}, {all.begin() + 200, all.end()}, 0.7), expected);
}

TEST(Magnitude, LeavesTheModelAsItWas) {
  TwoLayers model({1, 2}, {3, 4});
  const torch::Tensor before = model.parameters()[0].detach().clone();
  prune(model, 0.5);
  EXPECT_TRUE(model.parameters()[0].equal(before));
  EXPECT_TRUE(model.parameters()[0].requires_grad());
}

TEST(Magnitude, RefusesWeightsThatAreNotNumbers) {
  try {
    prune({1, 2}, {std::numeric_limits<float>::quiet_NaN(), 4}, 0.5);
    FAIL() << "accepted NaN";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("importance of a weight of fc2.weight is NaN or infinite"));
  }
}

TEST(Magnitude, OfEqualsThosePrunedAlreadyGoFirst) {
  // All zero: without the mask in force the first two would be pruned.
  TwoLayers model({0, 0, 5}, {0, 0, 6});
  const Mask in_force({{"fc1.weight", torch::tensor({1, 0, 1}).to(torch::kBool).view({1, 3})},
                       {"fc2.weight", torch::tensor({1, 0, 1}).to(torch::kBool).view({1, 3})}});
  EXPECT_EQ(prune(model, 0.34), "001 111");
  EXPECT_EQ(prune(model, 0.34, "magnitude", &in_force), "101 101");
  EXPECT_EQ(prune(model, 0.5, "magnitude", &in_force), "001 101");
}

TEST(Magnitude, OnlyAddsToWhatIsPruned) {
  torch::manual_seed(8);
  std::vector<float> first(40);
  std::vector<float> second(60);
  for (float& weight : first) weight = torch::randn({}).item<float>();
  for (float& weight : second) weight = torch::randn({}).item<float>();
  TwoLayers model(first, second);
  std::string before(101, '1');
  std::unique_ptr<Mask> in_force;
  for (const double ratio : {0.2, 0.5, 0.9}) {
    const auto dataset = testing::synthetic();
    const Mask mask = make_pruning(Json::object(), magnitude_place)
                          .criterion->choose(model, {.dataset = *dataset, .in_force = in_force.get()}, ratio);
    const std::string kept = testing::bits_of(mask);
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_FALSE(before[i] == '0' && kept[i] == '1');
    before = kept;
    mask.apply(model);
    in_force = std::make_unique<Mask>(mask);
  }
}

TEST(MagnitudePerLayer, RemovesTheSameShareOfEveryLayer) {
  TwoLayers model({0.1F, 0.2F, 0.3F, 0.4F}, {-9, 8, 7, -6, 5});
  EXPECT_EQ(prune(model, 0.5, "magnitude_per_layer"), "0011 11100");
  EXPECT_EQ(prune(model, 0.5, "magnitude"), "0001 11110");
  EXPECT_EQ(prune(model, 0.24, "magnitude_per_layer"), "1111 11110");
}

TEST(MagnitudePerLayer, KeepsOneWeightOfEveryLayer) {
  TwoLayers model({3}, {1, 2, 2});
  EXPECT_EQ(prune(model, 0.99, "magnitude_per_layer"), "1 001");
}

}  // namespace
}  // namespace thinpipe::trainer
