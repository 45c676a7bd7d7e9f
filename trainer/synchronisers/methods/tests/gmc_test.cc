#include <gtest/gtest.h>

#include "trainer/base/modules.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::exact_mean;
using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

// A worker whose weights are initially zero.
class GmcWorker {
 public:
  GmcWorker(Json options, std::int64_t n, Collective& network)
      : world_(zero_world(n)), session_(with_name(std::move(options)), world_, network) {}

  const World& world() const { return world_; }
  Session& session() { return session_; }

  torch::Tensor step(const torch::Tensor& gradient, std::uint64_t step, double learning_rate,
                     bool applied = true) {
    session_.set_learning_rate(learning_rate);
    return session_.step(gradient, step, applied);
  }

  torch::Tensor weights() const { return torch::cat(session_.weights()); }

 private:
  static World zero_world(std::int64_t n) {
    World world = make_world(n, false);
    for (torch::Tensor& weights : world.weights) weights = torch::zeros_like(weights);
    return world;
  }

  static Json with_name(Json options) {
    options["name"] = "gmc";
    return options;
  }

  World world_;
  Session session_;
};

TEST(Gmc, OfEverythingIsPyTorchsMomentumWhateverBecomesOfTheLearningRate) {
  const std::vector<double> rates = {0.001, 0.1, 0.1, 0.05, 0.2, 0.2};
  for (const int workers : {1, 4}) {
    run_in_process(workers, [&](Collective& network) {
      GmcWorker worker({{"ratio", 1}}, 101, network);
      torch::Tensor expected = torch::zeros({101});
      torch::optim::SGD sgd(std::vector<torch::Tensor>{expected},
                            torch::optim::SGDOptions(0.1).momentum(0.9));
      for (std::size_t i = 0; i < rates.size(); ++i) {
        const auto step = static_cast<int>(i) + 1;
        worker.step(integer_gradient(worker.world(), network.rank(), step), i + 1, rates[i]);
        expected.mutable_grad() = exact_mean(worker.world(), workers, step).to(torch::kFloat32);
        sgd.param_groups().front().options().set_lr(rates[i]);
        sgd.step();
      }
      EXPECT_TRUE(torch::allclose(worker.weights(), expected, 1e-5, 1e-5)) << workers;
    });
  }
}

// Two entries, one sent, momentum 1/2, learning rate 1: weights move by (-4, 0) and then in the other
// direction.
TEST(Gmc, AddsTheLastMovementBeforeItChooses) {
  run_in_process(1, [](Collective& network) {
    GmcWorker worker({{"ratio", 0.5}, {"momentum", 0.5}}, 2, network);
    EXPECT_TRUE(worker.step(torch::tensor({4.0F, 1.0F}), 1, 1).equal(torch::tensor({4.0F, 0.0F})));
    // acc = 0 - 0.5 (-4, 0) + (0, 1) = (2, 1).
    EXPECT_TRUE(worker.step(torch::zeros({2}), 2, 1).equal(torch::tensor({2.0F, 0.0F})));
    // acc = 0 - 0.5 (-2, 0) + (0, 1) = (1, 1): the first of two equal entries.
    EXPECT_TRUE(worker.step(torch::zeros({2}), 3, 1).equal(torch::tensor({1.0F, 0.0F})));
    EXPECT_TRUE(worker.step(torch::zeros({2}), 4, 1).equal(torch::tensor({0.0F, 1.0F})));
  });
}

TEST(Gmc, HasNoMomentumAfterAStepWithoutALearningRate) {
  run_in_process(1, [](Collective& network) {
    GmcWorker worker({{"ratio", 1}}, 2, network);
    const torch::Tensor gradient = torch::tensor({4.0F, 1.0F});
    EXPECT_TRUE(worker.step(gradient, 1, 0).equal(gradient));
    EXPECT_TRUE(worker.step(gradient, 2, 0.5).equal(gradient)) << "nothing has moved";
    EXPECT_FALSE(worker.step(gradient, 3, 0.5).equal(gradient));
  });
}

TEST(Gmc, ASkippedStepIsNoMovement) {
  run_in_process(1, [](Collective& network) {
    GmcWorker skipping({{"ratio", 1}}, 2, network);
    GmcWorker steady({{"ratio", 1}}, 2, network);
    const torch::Tensor gradient = torch::tensor({4.0F, 1.0F});
    skipping.step(gradient, 1, 0.5);
    skipping.step(gradient, 2, 0.1, false);
    steady.step(gradient, 1, 0.5);
    EXPECT_TRUE(skipping.step(gradient, 3, 0.5).equal(steady.step(gradient, 3, 0.5)));
  });
}

TEST(Gmc, WhatPruningTakesIsNoMovement) {
  run_in_process(1, [](Collective& network) {
    GmcWorker worker({{"ratio", 1}, {"momentum", 0.5}}, 4, network);
    worker.step(torch::tensor({4.0F, 2.0F, 1.0F, 1.0F}), 1, 1);
    worker.step(torch::zeros({4}), 2, 1);
    // Weights are -6, -3, -1.5 and -1.5, and were -4, -2, -1 and -1.
    worker.session().weights()[0][0] = 0.0F;
    worker.session().method().adopt_masks({torch::tensor({false, true}), torch::Tensor()});
    worker.session().method().prepare({worker.world().bucket});
    EXPECT_TRUE(worker.step(torch::zeros({4}), 3, 1).equal(torch::tensor({0.0F, 0.5F, 0.25F, 0.25F})));
  });
}

TEST(Gmc, IsErrorFeedbackOnlyWithoutMomentum) {
  const auto estimate = [](double momentum) {
    const Json options = {{"name", "gmc"}, {"momentum", momentum}};
    return SynchroniserRegistry::instance().make(options, {"test", ""}, {})->properties().estimate;
  };
  EXPECT_EQ(estimate(0), Estimate::error_feedback);
  EXPECT_EQ(estimate(0.9), Estimate::biased);
}

TEST(Gmc, WithoutWeightsItPlansButDoesNotStep) {
  World world = make_world(4, false);
  world.weights.clear();
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "gmc"}, {"ratio", 0.5}}, world, network);
    EXPECT_EQ(session.method().traffic(world.bucket, 1).payload_bytes, 20 + 8 * 2);
    EXPECT_THROW(session.step(torch::ones({4}), 1), Error);
  });
}

}  // namespace
}  // namespace thinpipe::trainer
