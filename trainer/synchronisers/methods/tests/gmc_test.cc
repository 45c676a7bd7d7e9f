// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/base/modules.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"
#include "trainer/synchronisers/tests/conservation.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using trainer::testing::balanced_step;
using trainer::testing::exact_mean;
using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::residual_of;
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
  const std::vector<Json> methods = {{{"ratio", 1}},
                                     {{"ratio", 1}, {"sparsifier", "random_block"}},
                                     {{"ratio", 1}, {"sparsifier", "random_block"}, {"detached", 0.3}}};
  for (const Json& options : methods) {
    for (const int workers : {1, 4}) {
      run_in_process(workers, [&](Collective& network) {
        GmcWorker worker(options, 101, network);
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
        EXPECT_TRUE(torch::allclose(worker.weights(), expected, 1e-5, 1e-5)) << options << workers;
      });
    }
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

// Two tensors of 50 entries, 5 of each kept. With gradients of one everywhere and without momentum or
// movement, an entry that is sent has the number of steps since it was sent last.
TEST(GmcRandomBlock, SendsSuccessiveEntriesOfEachTensorAndEveryEntryInTime) {
  run_in_process(3, [](Collective& network) {
    GmcWorker worker({{"ratio", 0.1}, {"momentum", 0}, {"sparsifier", "random_block"}}, 100, network);
    std::vector<int> last(100, 0);
    for (int step = 1; step <= 200; ++step) {
      const torch::Tensor out = worker.step(torch::ones({100}), static_cast<std::uint64_t>(step), 0);
      for (const Slice& slice : worker.world().bucket.slices) {
        const torch::Tensor sent = out.narrow(0, slice.offset, slice.size).ne(0);
        EXPECT_EQ(sent.sum().item<int>(), 5) << step;
        // Around the tensor, one stretch of entries begins and ends.
        EXPECT_EQ(sent.ne(sent.roll(1)).sum().item<int>(), 2) << step;
      }
      for (std::size_t i = 0; i < last.size(); ++i) {
        const float value = floats(out)[i];
        if (value == 0) continue;
        EXPECT_NEAR(value, step - last[i], 1e-4) << "entry " << i << ", step " << step;
        last[i] = step;
      }
    }
    EXPECT_THAT(last, ::testing::Each(::testing::Gt(0)));
  });
}

// Workers' gradients differ, so a sum of different entries would be neither in the result nor in a residual.
TEST(GmcRandomBlock, LosesNothingBecauseAllWorkersKeepTheSameEntries) {
  const World world = make_world(100, true);
  run_in_process(4, [&](Collective& network) {
    Session session({{"name", "gmc"}, {"ratio", 0.1}, {"momentum", 0}, {"sparsifier", "random_block"}}, world,
                    network);
    for (int step = 1; step <= 30; ++step) {
      const auto balance =
          balanced_step(session, world, network, integer_gradient(world, network.rank(), step), step);
      EXPECT_LT(balance.lost, 0.01) << step;
      EXPECT_LE(balance.out.count_nonzero().item<int>(), 10) << step;
    }
    EXPECT_GT(residual_of(session, world).count_nonzero().item<int>(), 30);
  });
}

TEST(GmcRandomBlock, KeepsTheSameEntriesInAnotherLayout) {
  const World world = make_world(60, false);
  run_in_process(1, [&](Collective& network) {
    const Json method = {{"name", "gmc"}, {"ratio", 0.2}, {"sparsifier", "random_block"}};
    Session together(method, world, network);
    Session apart(method, world, network);
    const torch::Tensor gradient = integer_gradient(world, 0, 1) + 20;  // without zeros
    const torch::Tensor out = together.step(gradient, 1);
    // The second tensor in a bucket of its own, the first in none.
    const Slice& second = world.bucket.slices[1];
    const Bucket own{
        .index = 4, .size = second.size, .slices = {{.parameter = 1, .offset = 0, .size = second.size}}};
    const torch::Tensor part = gradient.narrow(0, second.offset, second.size);
    EXPECT_TRUE(apart.step_of(own, part, 1).equal(out.narrow(0, second.offset, second.size)));
  });
}

TEST(GmcRandomBlock, SendsValuesWithoutIndices) {
  const World world = make_world(101, false);  // tensors of 51 and 50 entries
  const Json method = {{"name", "gmc"}, {"ratio", 0.1}, {"sparsifier", "random_block"}};
  const auto made = SynchroniserRegistry::instance().make(
      method, {"test", ""}, {.parameters = world.parameters, .kept = world.kept, .weights = {}});
  EXPECT_EQ(made->traffic(world.bucket, 4).payload_bytes, 4 * (5 + 5 + 1));
  EXPECT_TRUE(made->properties().all_reduce_compatible);
  EXPECT_FALSE(made->properties().traffic_depends_on_data);
}

TEST(Gmc, WithoutMomentumChoosesAsTopKInEitherScope) {
  const World world = make_world(60, false);
  for (const char* const scope : {"bucket", "tensor"}) {
    run_in_process(2, [&](Collective& network) {
      Session gmc({{"name", "gmc"}, {"ratio", 0.1}, {"momentum", 0}, {"scope", scope}}, world, network);
      Session topk({{"name", "topk"}, {"ratio", 0.1}, {"scope", scope}}, world, network);
      gmc.set_learning_rate(1);
      for (int step = 1; step <= 3; ++step) {
        const torch::Tensor gradient = integer_gradient(world, network.rank(), step);
        EXPECT_TRUE(gmc.step(gradient, step).equal(topk.step(gradient, step))) << scope << ", step " << step;
      }
    });
  }
}

TEST(GmcRandomBlock, RefusesOptionsOfTopK) {
  const auto expect_refused = [](const char* option, const char* value, const char* reason) {
    const Json method = {{"name", "gmc"}, {"sparsifier", "random_block"}, {option, value}};
    EXPECT_THAT(
        [&] {
          SynchroniserRegistry::instance().make(method, {"test", ""}, {});
        },
        ThrowsMessage<InputError>(AllOf(HasSubstr(option), HasSubstr(reason), HasSubstr("leave it out"))));
  };
  expect_refused("indices", "sparse_all_reduce", "no indices are sent");
  expect_refused("scope", "tensor", "blocks are always of tensors");
}

TEST(GmcDetached, ShiftsEachWorkerByItsOwnResidualAtTheComingRate) {
  run_in_process(2, [](Collective& network) {
    GmcWorker worker({{"ratio", 0.5}, {"detached", 0.5}}, 2, network);
    Synchroniser& method = worker.session().method();
    EXPECT_TRUE(method.shifts_evaluation());
    const float own = network.rank() == 0 ? 1.0F : 3.0F;
    worker.step(torch::tensor({4.0F, own}), 1, 1);  // sends the first entry, unless both are equal
    method.set_learning_rate(0.25);
    method.begin_step(2);
    EXPECT_EQ(method.evaluation_shift(0).item<float>(), 0);
    EXPECT_EQ(method.evaluation_shift(1).item<float>(), -0.5F * 0.25F * own);
  });
}

TEST(GmcDetached, IsOffByDefault) {
  run_in_process(1, [](Collective& network) {
    GmcWorker worker({{"ratio", 0.5}}, 2, network);
    worker.step(torch::tensor({4.0F, 1.0F}), 1, 1);
    EXPECT_FALSE(worker.session().method().shifts_evaluation());
  });
}

}  // namespace
}  // namespace thinpipe::trainer
