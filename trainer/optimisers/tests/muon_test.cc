// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimisers/muon.hh"

#include <cmath>
#include <sstream>
#include <tuple>

#include <gtest/gtest.h>

#include "trainer/optimisers/optimiser.hh"
#include "trainer/optimisers/set_learning_rate.hh"
#include "trainer/optimisers/snapshot.hh"
#include "trainer/optimisers/state.hh"

namespace thinpipe::trainer {
namespace {

constexpr double learning_rate = 0.1;
constexpr double momentum = 0.6;
constexpr double weight_decay = 0.3;

std::unique_ptr<torch::optim::Optimizer> make_muon(const OptimisedParameters& parameters) {
  const Json options = {{"name", "muon"},
                        {"learning_rate", learning_rate},
                        {"momentum", momentum},
                        {"weight_decay", weight_decay}};
  return OptimiserRegistry::instance().make(options, {}, parameters);
}

torch::Tensor random(at::IntArrayRef shape) {
  return torch::randn(shape);
}

class OfShape : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(OfShape, OrthogonalisedMatricesHaveSingularValuesNearOne) {
  torch::manual_seed(1);
  const auto [rows, columns] = GetParam();
  const torch::Tensor matrix = random({rows, columns});
  const torch::Tensor result = orthogonalised(matrix);
  ASSERT_EQ(result.sizes(), matrix.sizes());
  const torch::Tensor values = torch::linalg_svdvals(result);
  EXPECT_GT(values.min().item<double>(), 0.5);
  EXPECT_LT(values.max().item<double>(), 1.25);
  // The same singular vectors: the product with the orthogonal factor is symmetric and positive.
  const auto [left, sizes, right] = torch::linalg_svd(matrix, false);
  const torch::Tensor product = left.t().mm(result).mm(right.t());
  EXPECT_LT((product - product.diagonal().diag()).abs().max().item<double>(), 1e-4);
  EXPECT_GT(product.diagonal().min().item<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Muon, OfShape,
                         ::testing::Values(std::tuple{8, 8}, std::tuple{5, 40}, std::tuple{64, 16},
                                           std::tuple{1, 7}));

// In float64, with the polynomial written out.
torch::Tensor reference_step(const torch::Tensor& direction) {
  torch::Tensor x = direction / (direction.norm() + 1e-7);
  for (int i = 0; i < 5; ++i) {
    const torch::Tensor gram = x.mm(x.t());
    x = 3.4445 * x - 4.7750 * gram.mm(x) + 2.0315 * gram.mm(gram).mm(x);
  }
  return 0.2 * std::sqrt(static_cast<double>(std::max(x.size(0), x.size(1)))) * x;
}

TEST(Muon, StepsAgreeWithAReferenceInFloat64) {
  torch::manual_seed(2);
  for (const auto& shape : {std::vector<std::int64_t>{6, 10}, {4, 2, 3, 3}}) {
    torch::Tensor weight = random(shape).requires_grad_();
    const auto muon = make_muon({.all = {weight}, .is_hidden_weight = {true}});
    torch::Tensor expected = weight.detach().to(torch::kDouble).flatten(1).clone();
    torch::Tensor sum = torch::zeros_like(expected);
    for (int step = 0; step < 4; ++step) {
      const torch::Tensor gradient = random(shape);
      weight.mutable_grad() = gradient;
      muon->step();
      const torch::Tensor exact = gradient.to(torch::kDouble).flatten(1);
      sum = momentum * sum + exact;
      expected *= 1 - learning_rate * weight_decay;
      expected -= learning_rate * reference_step(exact + momentum * sum);
      const torch::Tensor error = weight.detach().to(torch::kDouble).flatten(1) - expected;
      EXPECT_LT(error.abs().max().item<double>(), 1e-5) << step;
      EXPECT_TRUE(weight.grad().equal(gradient)) << "the gradient stays";
    }
  }
}

TEST(Muon, OtherParametersTakeTheStepsOfAdamW) {
  torch::manual_seed(3);
  torch::Tensor head = random({3, 4}).requires_grad_();
  torch::Tensor same = head.detach().clone().requires_grad_();
  torch::Tensor hidden = random({4, 4}).requires_grad_();
  const auto muon = make_muon({.all = {hidden, head}, .is_hidden_weight = {true, false}});
  const auto adamw = OptimiserRegistry::instance().make(
      {{"name", "adamw"}, {"learning_rate", learning_rate}, {"weight_decay", weight_decay}}, {},
      {.all = {same}, .is_hidden_weight = {false}});
  for (int step = 0; step < 3; ++step) {
    const torch::Tensor gradient = random({3, 4});
    head.mutable_grad() = gradient.clone();
    same.mutable_grad() = gradient.clone();
    hidden.mutable_grad() = random({4, 4});
    muon->step();
    adamw->step();
    EXPECT_TRUE(head.equal(same));
  }
}

TEST(Muon, FollowsTheLearningRateOfTheSchedule) {
  torch::Tensor hidden = torch::eye(4).requires_grad_();
  const auto muon = make_muon({.all = {hidden}, .is_hidden_weight = {true}});
  set_learning_rate(*muon, 0);
  hidden.mutable_grad() = random({4, 4});
  muon->step();
  EXPECT_TRUE(hidden.equal(torch::eye(4)));
}

TEST(Muon, PrunedWeightsStayZero) {
  torch::manual_seed(4);
  const torch::Tensor pruned = torch::rand({6, 6}) < 0.5;
  torch::Tensor weight = random({6, 6}).masked_fill(pruned, 0).requires_grad_();
  const auto muon = make_muon({.all = {weight}, .is_hidden_weight = {true}});
  const torch::Tensor before = weight.detach().clone();
  for (int step = 0; step < 3; ++step) {
    weight.mutable_grad() = random({6, 6}).masked_fill(pruned, 0);
    muon->step();
  }
  EXPECT_EQ(weight.masked_select(pruned).abs().max().item<double>(), 0);
  EXPECT_GT((weight - before).abs().masked_select(~pruned).min().item<double>(), 0);
}

TEST(Muon, ItsStateIsKnownToCheckpointsAndLocalSteps) {
  torch::manual_seed(5);
  torch::Tensor weight = random({4, 5}).requires_grad_();
  torch::Tensor other = weight.detach().clone().requires_grad_();
  const auto muon = make_muon({.all = {weight}, .is_hidden_weight = {true}});
  const auto step = [](torch::optim::Optimizer& optimiser, torch::Tensor& of, double gradient) {
    of.mutable_grad() = torch::full({4, 5}, gradient) + torch::eye(4, 5);
    optimiser.step();
  };
  step(*muon, weight, 1);
  EXPECT_TRUE(momentum_of(*muon, weight).equal(torch::ones({4, 5}) + torch::eye(4, 5)));
  EXPECT_EQ(state_tensors(*muon, weight, "weight").size(), 1);

  std::stringstream file;
  torch::serialize::OutputArchive saved;
  muon->save(saved);
  saved.save_to(file);
  const OptimiserSnapshot snapshot(*muon);
  const torch::Tensor at_snapshot = weight.detach().clone();
  step(*muon, weight, 2);
  const torch::Tensor expected = weight.detach().clone();

  const auto loaded = make_muon({.all = {other}, .is_hidden_weight = {true}});
  torch::serialize::InputArchive archive;
  archive.load_from(file);
  loaded->load(archive);
  other.data().copy_(at_snapshot);
  step(*loaded, other, 2);
  EXPECT_TRUE(other.equal(expected));

  snapshot.restore(*muon);
  weight.data().copy_(at_snapshot);
  step(*muon, weight, 2);
  EXPECT_TRUE(weight.equal(expected));
}

}  // namespace
}  // namespace thinpipe::trainer
