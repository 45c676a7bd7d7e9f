// SPDX-License-Identifier: Apache-2.0
// GraSP: its scores compared with finite differences and a loss solved by hand, and the whole criterion.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/datasets/epoch_permutation.hh"
#include "trainer/models/loss.hh"
#include "trainer/pruning/balanced_batches.hh"
#include "trainer/pruning/gradient_flow.hh"
#include "trainer/pruning/pruning.hh"
#include "trainer/pruning/scoring.hh"
#include "trainer/pruning/tests/two_layers.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Place grasp_place{"test", "/pruning"};

TEST(GradientFlow, PT4_OfAQuadraticIsSolvedByHand) {
  // L = ½ θᵀAθ with A = [[2, 1], [1, 3]], θ = (1, -2): g = Aθ = (0, -5), H·g = A²θ = (-5, -15),
  // scores -θ ⊙ A²θ = (5, -30).
  const torch::Tensor theta = torch::tensor({1.0F, -2.0F}, torch::requires_grad());
  const torch::Tensor a = torch::tensor({{2.0F, 1.0F}, {1.0F, 3.0F}});
  const GradientFlow flow =
      gradient_flow({theta}, 1, [&](std::int64_t) { return 0.5 * theta.dot(a.mv(theta)); });
  EXPECT_TRUE(flow.gradient[0].equal(torch::tensor({0.0F, -5.0F})));
  EXPECT_TRUE(flow.hessian_gradient[0].equal(torch::tensor({-5.0F, -15.0F})));
  EXPECT_TRUE(removal_scores({theta}, flow)[0].equal(torch::tensor({5.0F, -30.0F})));
  EXPECT_FALSE(theta.grad().defined());
}

TEST(GradientFlow, PT4_SumsGradientsBeforeTheHessianSeesThem) {
  // Two batches, L_j = ½ a_j θ²: g = (a_1 + a_2)θ, H·g = (a_1 + a_2)²θ; per batch it would be (a_1² + a_2²)θ.
  const torch::Tensor theta = torch::tensor({3.0F}, torch::requires_grad());
  const std::vector<float> a = {1, 4};
  const GradientFlow flow = gradient_flow({theta}, 2, [&](std::int64_t batch) {
    return (0.5 * a[static_cast<std::size_t>(batch)] * theta.square()).sum();
  });
  EXPECT_EQ(flow.gradient[0].item<float>(), 15);
  EXPECT_EQ(flow.hessian_gradient[0].item<float>(), 75);
}

TEST(GradientFlow, HasZerosForWeightsThatTheLossDoesNotDependOn) {
  const torch::Tensor used = torch::tensor({2.0F}, torch::requires_grad());
  const torch::Tensor linear = torch::tensor({2.0F}, torch::requires_grad());
  const torch::Tensor unused = torch::tensor({1.0F, 1.0F}, torch::requires_grad());
  const torch::NoGradGuard as_a_caller_might;
  const GradientFlow flow = gradient_flow({used, linear, unused}, 1,
                                          [&](std::int64_t) { return (used.square() + 5 * linear).sum(); });
  EXPECT_EQ(flow.gradient[1].item<float>(), 5);
  EXPECT_EQ(flow.hessian_gradient[0].item<float>(), 8);
  EXPECT_EQ(flow.hessian_gradient[1].item<float>(), 0);
  EXPECT_TRUE(flow.hessian_gradient[2].equal(torch::zeros({2})));
}

// A model that is twice differentiable everywhere and has normalisation, dropout and a bias.
class Smooth : public Model {
 public:
  explicit Smooth(bool normalised) : normalised_(normalised) { torch::manual_seed(7); }

  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = conv_(images).tanh();
    if (normalised_) x = norm_(x);
    return fc_(drop_(x.flatten(1)));
  }
  std::string head() const override { return "fc"; }

 private:
  bool normalised_;
  torch::nn::Conv2d conv_ = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 3, 3)));
  torch::nn::BatchNorm2d norm_ = register_module("norm", torch::nn::BatchNorm2d(3));
  torch::nn::Dropout drop_ = register_module("drop", torch::nn::Dropout(0.5));
  torch::nn::Linear fc_ = register_module("fc", torch::nn::Linear(3 * 4 * 4, 4));
};

std::unique_ptr<Dataset> images() {
  return testing::synthetic({{"classes", 4}, {"height", 6}, {"width", 6}, {"train_examples", 64}});
}

Json grasp(Json options = Json::object()) {
  options["criterion"] = "grasp";
  if (!options.contains("examples_per_class")) options["examples_per_class"] = 3;
  return options;
}

TEST(GradientFlow, PT4_AgreesWithFiniteDifferencesOnASmoothNet) {
  for (const bool normalised : {false, true}) {
    Smooth model(normalised);
    model.to(torch::kDouble);  // in float32, rounding would hide the difference
    model.eval();
    model.named_children()["norm"]->train();
    std::vector<torch::Tensor> weights;
    for (const auto& [name, weight] : prunable_weights(model)) weights.push_back(weight);
    const torch::Tensor inputs = torch::randn({2, 8, 1, 6, 6}, torch::kDouble);
    const torch::Tensor labels = torch::randint(4, {2, 8});
    const auto loss = [&](std::int64_t batch) {
      return cross_entropy(model.forward(inputs[batch]) / 2, labels[batch]);
    };
    const GradientFlow flow = gradient_flow(weights, 2, loss);

    const auto gradient = [&] { return gradient_flow(weights, 2, loss).gradient; };
    const auto move = [&](double by) {
      const torch::NoGradGuard no_grad;
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i].add_(flow.gradient[i], by);
    };
    constexpr double epsilon = 1e-4;
    move(epsilon);
    const auto above = gradient();
    move(-2 * epsilon);
    const auto below = gradient();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const torch::Tensor difference = (above[i] - below[i]) / (2 * epsilon);
      const double error = (difference - flow.hessian_gradient[i]).norm().item<double>();
      EXPECT_LT(error, 1e-3 * difference.norm().item<double>()) << "layer " << i;
      EXPECT_GT(difference.norm().item<double>(), 0);
    }
  }
}

Mask choose(Model& model, const Json& options, double ratio, std::uint64_t seed = 1) {
  const auto dataset = images();
  return make_pruning(options, grasp_place)
      .criterion->choose(model, {.dataset = *dataset, .seed = seed}, ratio);
}

TEST(Grasp, PT4_RemovesExactlyThoseOfTheLargestScores) {
  Smooth model(true);
  const auto dataset = images();
  std::vector<float> scores;
  {
    const Scoring scoring(model);
    const auto batch = class_balanced_batches(dataset->train().labels, epoch_permutation(64, 1, 0), 1, 3)[0];
    const torch::Tensor inputs = dataset->prepare(dataset->train().inputs.index_select(0, batch));
    const torch::Tensor labels = dataset->train().labels.index_select(0, batch).to(torch::kInt64);
    const GradientFlow flow = gradient_flow(scoring.weights(), 1, [&](std::int64_t) {
      return cross_entropy(model.forward(inputs) / 200, labels);
    });
    for (const torch::Tensor& layer : removal_scores(scoring.weights(), flow)) {
      const torch::Tensor flat = layer.flatten().contiguous();
      scores.insert(scores.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
    }
  }
  const auto removed = static_cast<std::size_t>(0.6 * static_cast<double>(scores.size()));
  std::vector<float> sorted = scores;
  std::ranges::sort(sorted, std::greater());
  ASSERT_GT(sorted[removed - 1], sorted[removed]) << "no tie at the threshold";

  std::string kept = testing::bits_of(choose(model, grasp(), 0.6));
  std::erase(kept, ' ');
  ASSERT_EQ(kept.size(), scores.size());
  EXPECT_EQ(std::ranges::count(kept, '0'), removed);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i] == '0', scores[i] >= sorted[removed - 1]) << i;
  }
}

TEST(Grasp, LeavesTheModelAsItWas) {
  Smooth model(true);
  model.train();
  model.named_children()["drop"]->eval();
  int hooked = 0;
  for (const torch::Tensor& parameter : model.parameters()) {
    parameter.mutable_grad() = torch::full_like(parameter, 3);
    parameter.register_hook([&hooked](const torch::Tensor&) { ++hooked; });
  }
  std::vector<torch::Tensor> before;
  for (const torch::Tensor& tensor : model.parameters()) before.push_back(tensor.detach().clone());
  for (const torch::Tensor& tensor : model.buffers()) before.push_back(tensor.clone());

  choose(model, grasp({{"batches", 2}}), 0.5);

  std::vector<torch::Tensor> after;
  for (const torch::Tensor& tensor : model.parameters()) {
    after.push_back(tensor);
    EXPECT_TRUE(tensor.requires_grad());
    EXPECT_TRUE(tensor.grad().eq(3).all().item<bool>());
  }
  for (const torch::Tensor& tensor : model.buffers()) after.push_back(tensor);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].equal(after[i])) << i;
  EXPECT_TRUE(model.is_training());
  EXPECT_TRUE(model.named_children()["norm"]->is_training());
  EXPECT_FALSE(model.named_children()["drop"]->is_training());
  EXPECT_EQ(hooked, 0);
  // The layers use their own weights again, which still have their hooks.
  model.forward(torch::randn({2, 1, 6, 6})).sum().backward();
  EXPECT_EQ(hooked, std::ssize(model.parameters()));
  EXPECT_FALSE(model.parameters()[0].grad().eq(3).all().item<bool>());
}

TEST(Grasp, TheSameWeightsDataAndSeedGiveTheSameMask) {
  Smooth model(true);
  const Mask mask = choose(model, grasp(), 0.5);
  torch::rand({100});  // the global generator must have no effect
  EXPECT_EQ(mask.hash(), choose(model, grasp(), 0.5).hash());
  EXPECT_NE(mask.hash(), choose(model, grasp(), 0.5, 2).hash()) << "other batches";
  EXPECT_NE(mask.hash(), choose(model, grasp({{"temperature", 1}}), 0.5).hash());
}

TEST(Grasp, KeepsAWeightOfEveryLayer) {
  Smooth model(false);
  const Mask mask = choose(model, grasp(), 0.99);
  EXPECT_EQ(mask.kept(), 3);  // of 219: 216 are pruned
  for (const Mask::Layer& layer : mask.layers()) EXPECT_GE(layer.kept(), 1) << layer.name;
}

TEST(Grasp, NamesTheClassThatHasTooFewExamples) {
  Smooth model(false);
  EXPECT_THAT(
      [&] {
        choose(model, grasp({{"batches", 9}, {"examples_per_class", 2}}), 0.5);
      },
      ThrowsMessage<Error>(HasSubstr("class 0 has 16 training examples, but 9 batches of 2 need 18")));
}

// A text in which each byte follows from the previous one, and a model of it.
class Counting : public Dataset {
 public:
  explicit Counting(std::int64_t examples) {
    const torch::Tensor tokens = torch::arange(examples * 4).remainder(8).view({examples, 4});
    examples_ = {tokens.to(torch::kUInt8), (tokens + 1).remainder(8).to(torch::kUInt8)};
  }
  DataShape shape() const override { return {.classes = 8, .sequence_length = 4}; }
  const Examples& train() const override { return examples_; }
  const Examples& test() const override { return examples_; }
  torch::Tensor prepare(const torch::Tensor& inputs) const override { return inputs.to(torch::kInt64); }

 private:
  Examples examples_;
};

class Bigram : public Model {
 public:
  Bigram() { torch::manual_seed(2); }
  torch::Tensor forward(const torch::Tensor& tokens) override { return out_(embedding_(tokens).tanh()); }
  std::string head() const override { return "out"; }

 private:
  torch::nn::Embedding embedding_ = register_module("embedding", torch::nn::Embedding(8, 5));
  torch::nn::Linear out_ = register_module("out", torch::nn::Linear(5, 8));
};

TEST(Grasp, ScoresTextByPlainBatchesOfSequences) {
  Bigram model;
  const Pruning pruning = make_pruning(grasp({{"batches", 2}, {"examples_per_class", 1}}), grasp_place);
  const Counting enough(20);
  EXPECT_EQ(pruning.criterion->choose(model, {.dataset = enough, .seed = 1}, 0.5).kept(), 20);
  const Counting too_few(19);
  EXPECT_THAT(
      [&] { pruning.criterion->choose(model, {.dataset = too_few, .seed = 1}, 0.5); },
      ThrowsMessage<Error>(HasSubstr("grasp needs 2 batches of 10 sequences, but the data set has only 19")));
}

}  // namespace
}  // namespace thinpipe::trainer
