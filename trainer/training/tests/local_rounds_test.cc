// SPDX-License-Identifier: Apache-2.0
// Methods with local steps: between exchanges, and in exchanges.
#include "trainer/training/local_rounds.hh"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/borrowed.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/commands/check.hh"
#include "trainer/pruning/enforcement.hh"
#include "trainer/training/tests/training.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trainer::testing::are_pruned_alike;
using trainer::testing::base_config;
using trainer::testing::configured;
using trainer::testing::exchanges_in;
using trainer::testing::largest_difference;
using trainer::testing::Result;
using trainer::testing::train;

Json diloco(std::int64_t local_steps, double learning_rate = 0.7, double momentum = 0.9) {
  return {{"name", "diloco"},
          {"local_steps", local_steps},
          {"learning_rate", learning_rate},
          {"momentum", momentum}};
}

const Json plain_sgd = {{"name", "sgd"}, {"learning_rate", 0.05}, {"momentum", 0.0}};

// Bound on the differences of float sums in another order, after 16 steps; see training_loop_test.cc.
constexpr double tolerance = 1e-5;

TEST(LocalRounds, OfOneStepOuterSgdOfRateOneIsDense) {
  const Result dense = train(configured(3, {{"optimiser", plain_sgd}}));
  const Result local = train(configured(3, {{"optimiser", plain_sgd}, {"synchroniser", diloco(1, 1, 0)}}));
  EXPECT_LT(largest_difference(dense, local), tolerance);
}

TEST(LocalRounds, OfOneWorkerThatTakesEachChangeAsItIsAreTheOptimisersOwnSteps) {
  const Result dense = train(configured(1));
  const Result local = train(configured(1, {{"synchroniser", diloco(4, 1, 0)}}));
  EXPECT_LT(largest_difference(dense, local), tolerance);
  EXPECT_THAT(exchanges_in(local), ElementsAre(4, 8, 12, 16));
}

// One round: u = c, and W = W0 + 0.5·(c + 0.8·c).
TEST(LocalRounds, TheOuterOptimiserStepsWithItsMomentum) {
  const auto one_round = [](const Json& optimiser, const Json& method) {
    return train(configured(1, {{"optimiser", optimiser},
                                {"synchroniser", method},
                                {"training", {{"epochs", 1}, {"evaluate_every_iterations", 8}}}}))
        .parameters;
  };
  const Json frozen = {{"name", "sgd"}, {"learning_rate", 1e-30}, {"momentum", 0.0}, {"weight_decay", 0.0}};
  const auto start = one_round(frozen, diloco(8, 1, 0));
  const auto plain = one_round(plain_sgd, diloco(8, 1, 0));
  const auto outer = one_round(plain_sgd, diloco(8, 0.5, 0.8));
  for (std::size_t p = 0; p < start.size(); ++p) {
    const torch::Tensor change = plain[p] - start[p];
    EXPECT_GT(change.abs().max().item<float>(), 1e-3);
    EXPECT_TRUE(torch::allclose(outer[p] - start[p], 0.9 * change, 1e-3, 1e-6));
  }
}

TEST(LocalRounds, TheLastRoundEndsWithTheTraining) {
  const Result result =
      train(configured(2, {{"synchroniser", diloco(6)}, {"training", {{"evaluate_every_iterations", 6}}}}));
  EXPECT_THAT(exchanges_in(result), ElementsAre(6, 12, 16));
}

class LocalMethods : public ::testing::TestWithParam<Json> {};

TEST_P(LocalMethods, GoOnInTheMiddleOfARoundAsIfNothingHadHappened) {
  const TrainingConfig config = configured(3, {{"synchroniser", GetParam()}});
  const Result whole = train(config);
  const TemporaryFolder folder;
  const CheckpointOptions checkpoints{.directory = folder.path(), .every_iterations = 5};
  train(config, checkpoints);
  for (const char* rank : {"0", "1", "2"}) {
    std::filesystem::remove(folder.path() / (std::string("rank-") + rank + ".iteration-15.pt"));
  }
  const Result resumed = train(config, checkpoints);
  EXPECT_EQ(resumed.resumed["iteration"], 10);
  EXPECT_EQ(resumed.summary["parameters_hash"], whole.summary["parameters_hash"]);
}

TEST_P(LocalMethods, KeepPrunedWeightsAtZeroAndWorkersAlike) {
  Json changes = {{"synchroniser", GetParam()}, {"pruning", {{"ratio", 0.5}, {"at_iteration", 6}}}};
  changes["training"]["check_replicas_every_iterations"] = 4;
  const Result result = train(configured(3, changes));
  std::int64_t zeros = 0;
  for (const torch::Tensor& parameter : result.parameters)
    zeros += parameter.eq(0).sum().item<std::int64_t>();
  EXPECT_GT(zeros, 0.4 * result.summary["parameters"].get<double>());
}

// In the middle of a round, the weights that all workers share are those of its beginning.
TEST_P(LocalMethods, ChooseAMaskFromTheCommonWeights) {
  const auto pruned_after = [](std::int64_t iteration) {
    return train(configured(
        3, {{"synchroniser", GetParam()}, {"pruning", {{"ratio", 0.5}, {"at_iteration", iteration}}}}));
  };
  const Result at_the_beginning = pruned_after(4);
  EXPECT_TRUE(are_pruned_alike(at_the_beginning, pruned_after(6)));
  EXPECT_FALSE(are_pruned_alike(at_the_beginning, pruned_after(8))) << "the weights hardly change";
}

INSTANTIATE_TEST_SUITE_P(All, LocalMethods,
                         ::testing::Values(diloco(4),
                                           Json{{"name", "sbc"}, {"ratio", 0.05}, {"local_steps", 4}}),
                         [](const auto& test) { return test.param["name"].template get<std::string>(); });

// Two workers with one weight each, whose gradients are given by the test.
struct OneWeight : Model {
  OneWeight()
      : weight(register_parameter("weight", torch::zeros({2, 1}))),
        statistic(register_buffer("statistic", torch::zeros({1}))) {}
  torch::Tensor forward(const torch::Tensor& inputs) override { return inputs * weight; }
  std::string head() const override { return "weight"; }
  torch::Tensor weight;
  torch::Tensor statistic;  // as of a normalisation layer
};

std::unique_ptr<GradientExchange> exchange_of(Model& model, const Json& method, MeteredCollective& network) {
  const SynchroniserContext context{
      .parameters = parameter_infos(model), .kept = {}, .weights = model.parameters()};
  return std::make_unique<GradientExchange>(model.named_parameters(), Mask::keep_all(model),
                                            SynchroniserRegistry::instance().make(method, {}, context),
                                            network, BucketOptions{}, GradientSource::changes);
}

constexpr std::int64_t never = 1000;  // the last iteration

TEST(LocalRounds, OneWorkersNaNTakesAllBackToWhereTheRoundBegan) {
  run_in_process(2, [](Collective& network) {
    OneWeight model;
    MeteredCollective metered(std::make_unique<trainer::Borrowed>(network));
    std::vector<std::unique_ptr<GradientExchange>> exchanges;
    exchanges.push_back(exchange_of(model, diloco(2, 1, 0), metered));
    LocalRounds rounds(model, {{0}}, exchanges);
    torch::optim::SGD optimiser(model.parameters(), torch::optim::SGDOptions(1));
    const auto step = [&](float gradient) {
      rounds.begin_step(optimiser);
      model.weight.mutable_grad() = torch::full({2, 1}, gradient);
      const bool admitted = rounds.admits_step();
      if (admitted) optimiser.step();
      return admitted;
    };
    const float own = network.rank() == 0 ? 1 : 3;
    EXPECT_TRUE(step(own));
    EXPECT_TRUE(step(own));
    EXPECT_TRUE(rounds.end_step(2, never, optimiser).applied);
    EXPECT_TRUE(model.weight.equal(torch::full({2, 1}, -4.0F))) << "the mean of -2 and -6";

    const bool is_hit = network.rank() == 1;
    EXPECT_TRUE(step(own));
    EXPECT_EQ(step(is_hit ? std::numeric_limits<float>::quiet_NaN() : own), !is_hit);
    EXPECT_FALSE(rounds.end_step(4, never, optimiser).applied);
    EXPECT_TRUE(model.weight.equal(torch::full({2, 1}, -4.0F)));
    EXPECT_EQ(rounds.first_non_finite().has_value(), is_hit);

    EXPECT_TRUE(step(own));
    EXPECT_TRUE(rounds.end_step(5, 5, optimiser).applied);
    EXPECT_TRUE(model.weight.equal(torch::full({2, 1}, -6.0F)));
  });
}

// The result is as if the lost round did not exist, in the first or a later round, with or without a
// resumption in it.
TEST(LocalRounds, OptimisersAndStatisticsForgetALostRound) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool adam : {false, true}) {
    for (const std::size_t lost_round : {0, 1}) {
      run_in_process(2, [&](Collective& network) {
        const auto weights_after = [&](bool loses, bool breaks) {
          OneWeight model;
          MeteredCollective metered(std::make_unique<trainer::Borrowed>(network));
          std::vector<std::unique_ptr<GradientExchange>> exchanges;
          std::optional<LocalRounds> rounds;
          const auto begin = [&] {
            rounds.reset();
            exchanges.clear();
            exchanges.push_back(exchange_of(model, diloco(2, 1, 0), metered));
            rounds.emplace(model, std::vector<std::vector<std::size_t>>{{0}}, exchanges);
          };
          begin();
          std::unique_ptr<torch::optim::Optimizer> optimiser;
          if (adam) {
            optimiser =
                std::make_unique<torch::optim::Adam>(model.parameters(), torch::optim::AdamOptions(0.1));
          } else {
            optimiser = std::make_unique<torch::optim::SGD>(model.parameters(),
                                                            torch::optim::SGDOptions(0.1).momentum(0.9));
          }
          std::int64_t iteration = 0;
          const auto round = [&](float first, float second) {
            StepReport report;
            for (const float gradient : {first, second}) {
              rounds->begin_step(*optimiser);
              model.statistic += gradient;
              model.weight.mutable_grad() = torch::full({2, 1}, gradient);
              if (rounds->admits_step()) optimiser->step();
              report = rounds->end_step(++iteration, never, *optimiser);
              if (!breaks || gradient != first) continue;
              TensorMap state;
              exchanges.front()->save(state);
              rounds->save(state, *optimiser);
              begin();
              exchanges.front()->load(state);
              rounds->load(state, *optimiser);
            }
            EXPECT_EQ(report.steps, 2);
            return report.applied;
          };
          for (std::size_t i = 0; i < 3; ++i) {
            if (loses && i == lost_round) {
              EXPECT_FALSE(round(5, network.rank() == 1 ? nan : 7));
            }
            EXPECT_TRUE(round(1 + static_cast<float>(i), 2));
          }
          return torch::cat({model.weight.detach().flatten(), model.statistic});
        };
        const torch::Tensor whole = weights_after(false, false);
        EXPECT_TRUE(weights_after(true, false).equal(whole)) << adam << lost_round;
        EXPECT_TRUE(weights_after(true, true).equal(whole)) << adam << lost_round;
      });
    }
  }
}

// The lost round's momentum, which returns, is from before the pruning.
TEST(LocalRounds, ALostOneDoesNotBringPrunedWeightsBack) {
  run_in_process(2, [](Collective& network) {
    OneWeight model;
    MeteredCollective metered(std::make_unique<trainer::Borrowed>(network));
    std::vector<std::unique_ptr<GradientExchange>> exchanges;
    exchanges.push_back(exchange_of(model, diloco(2, 1, 0), metered));
    LocalRounds rounds(model, {{0}}, exchanges);
    torch::optim::SGD optimiser(model.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    std::int64_t iteration = 0;
    const auto step = [&](float gradient) {
      rounds.begin_step(optimiser);
      model.weight.mutable_grad() = torch::full({2, 1}, gradient);
      if (rounds.admits_step()) optimiser.step();
      return rounds.end_step(++iteration, never, optimiser);
    };
    step(1);
    ASSERT_TRUE(step(1).applied);
    step(1);
    const Mask mask({{"weight", torch::tensor({true, false}).view({2, 1})}});
    enforce(mask, model, optimiser);
    exchanges.front()->adopt_mask(mask);
    rounds.adopt_mask();
    EXPECT_FALSE(step(network.rank() == 1 ? std::numeric_limits<float>::quiet_NaN() : 1).applied);
    step(1);
    EXPECT_NE(model.weight[0].item<float>(), 0);
    EXPECT_EQ(model.weight[1].item<float>(), 0);
  });
}

// Computing changes and applying them are work of the training thread.
TEST(LocalRounds, OnlyTheWaitForTheirExchangeIsExposed) {
  run_in_process(1, [](Collective& network) {
    struct ManyWeights : Model {
      torch::Tensor forward(const torch::Tensor& inputs) override { return inputs; }
      std::string head() const override { return "weight"; }
      torch::Tensor weight = register_parameter("weight", torch::zeros({std::int64_t{1} << 22, 1}));
    } model;
    MeteredCollective metered(std::make_unique<trainer::Borrowed>(network));
    std::vector<std::unique_ptr<GradientExchange>> exchanges;
    exchanges.push_back(exchange_of(model, diloco(1, 1, 0), metered));
    LocalRounds rounds(model, {{0}}, exchanges);
    torch::optim::SGD optimiser(model.parameters(), torch::optim::SGDOptions(1));
    rounds.begin_step(optimiser);
    const Stopwatch whole;
    const StepReport report = rounds.end_step(1, never, optimiser);
    EXPECT_GT(report.exposed_exchange_s, 0);
    EXPECT_LT(report.exposed_exchange_s, 0.9 * whole.elapsed_s());
  });
}

TEST(LocalRounds, AWorkerForgetsTheMomentumOfWhatItSent) {
  run_in_process(1, [](Collective& network) {
    OneWeight model;
    MeteredCollective metered(std::make_unique<trainer::Borrowed>(network));
    const Json half = {{"name", "sbc"}, {"ratio", 0.5}, {"local_steps", 1}};  // one of two entries
    std::vector<std::unique_ptr<GradientExchange>> exchanges;
    exchanges.push_back(exchange_of(model, half, metered));
    LocalRounds rounds(model, {{0}}, exchanges);
    torch::optim::SGD optimiser(model.parameters(), torch::optim::SGDOptions(1).momentum(0.5));
    const auto step = [&] {
      rounds.begin_step(optimiser);
      model.weight.mutable_grad() = torch::tensor({{1.0F}, {2.0F}});
      EXPECT_TRUE(rounds.admits_step());
      optimiser.step();
      rounds.end_step(1, never, optimiser);
    };
    step();  // sends -2, keeps a residual of -1; the second entry's momentum is zero
    EXPECT_TRUE(model.weight.equal(torch::tensor({{0.0F}, {-2.0F}})));
    step();  // changes of -1.5 and, without momentum, -2; with the residual -2.5 and -2
    EXPECT_TRUE(model.weight.equal(torch::tensor({{-2.5F}, {-2.0F}})));
  });
}

Json answer(const Json& changes) {
  Json config = base_config(2);
  config.update(changes, true);
  return check_configurations(Json::array({config})).front();
}

TEST(LocalRounds, EvaluationsFallOnTheirEnds) {
  const Json refused = answer({{"synchroniser", diloco(3)}});
  EXPECT_EQ(refused["pointer"], "/training/evaluate_every_iterations");
  EXPECT_THAT(refused["message"].get<std::string>(),
              HasSubstr("a multiple of 3, the local steps of the synchroniser diloco"));
  const Json checks =
      answer({{"synchroniser", diloco(4)}, {"training", {{"check_replicas_every_iterations", 2}}}});
  EXPECT_EQ(checks["pointer"], "/training/check_replicas_every_iterations");
}

TEST(LocalRounds, PlansCountAnExchangeARound) {
  const Json dense = answer(Json::object())["plan"];
  const Json local = answer({{"synchroniser", diloco(4)}})["plan"];
  EXPECT_EQ(local["payload_bytes_per_iteration"].get<double>(),
            dense["payload_bytes_per_iteration"].get<double>() / 4);
  EXPECT_EQ(local["bucket_bytes"], Json::array({dense["gradient_bytes"]}));
  EXPECT_TRUE(local["all_reduce_compatible"].get<bool>());
  EXPECT_FALSE(
      answer({{"synchroniser", {{"name", "sbc"}, {"local_steps", 4}}}})["plan"]["all_reduce_compatible"]
          .get<bool>());
}

}  // namespace
}  // namespace thinpipe::trainer
