// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/base/modules.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"
#include "trainer/synchronisers/tests/conservation.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::make_world;
using trainer::testing::real_gradient;
using trainer::testing::residual_of;
using trainer::testing::Session;
using trainer::testing::World;

Json dgc(Json options) {
  options["name"] = "dgc";
  return options;
}

std::int64_t non_zero(const torch::Tensor& values) {
  return values.ne(0).sum().item<std::int64_t>();
}

// u and v calculated by hand, for two tensors of two entries, one of each sent, with momentum 1/2.
TEST(Dgc, SendsTheLargestOfTheAccumulatedMomentumAndMasksWhatItSent) {
  const World world = make_world(4, false);
  run_in_process(1, [&](Collective& network) {
    Session session(dgc({{"ratio", 0.5}, {"momentum", 0.5}}), world, network);
    EXPECT_TRUE(session.step(torch::tensor({1.0F, -4.0F, 3.0F, 2.0F}), 1)
                    .equal(torch::tensor({0.0F, -4.0F, 3.0F, 0.0F})));
    // u = (1, 0 | 0, 2) and v = (1, 0 | 0, 2): u becomes (0.5, 0 | 0, 1), v (1.5, 0 | 0, 3).
    EXPECT_TRUE(session.step(torch::zeros({4}), 2).equal(torch::tensor({1.5F, 0.0F, 0.0F, 3.0F})));
    EXPECT_TRUE(session.step(torch::zeros({4}), 3).eq(0).all().item<bool>());
  });
}

TEST(Dgc, WithoutMaskingWhatItSentKeepsItsMomentum) {
  const World world = make_world(4, false);
  run_in_process(1, [&](Collective& network) {
    Session session(dgc({{"ratio", 0.5}, {"momentum", 0.5}, {"masking", false}}), world, network);
    session.step(torch::tensor({1.0F, -4.0F, 3.0F, 2.0F}), 1);
    // u = (1, -4 | 3, 2) and v = (1, 0 | 0, 2): u becomes (0.5, -2 | 1.5, 1), v (1.5, -2 | 1.5, 3).
    EXPECT_TRUE(session.step(torch::zeros({4}), 2).equal(torch::tensor({0.0F, -2.0F, 0.0F, 3.0F})));
  });
}

class DgcOfEverything : public ::testing::TestWithParam<bool> {};

TEST_P(DgcOfEverything, WithoutMaskingIsPyTorchsMomentum) {
  const bool nesterov = GetParam();
  constexpr double learning_rate = 0.1;
  const World world = make_world(101, false);
  run_in_process(1, [&](Collective& network) {
    Session session(dgc({{"ratio", 1}, {"masking", false}, {"nesterov", nesterov}}), world, network);
    torch::Tensor expected = torch::zeros({101});
    torch::optim::SGD sgd(std::vector<torch::Tensor>{expected},
                          torch::optim::SGDOptions(learning_rate).momentum(0.9).nesterov(nesterov));
    torch::Tensor weights = torch::zeros({101});
    for (int step = 1; step <= 6; ++step) {
      const torch::Tensor gradient = real_gradient(world, 0, step);
      weights.sub_(session.step(gradient, step), learning_rate);
      expected.mutable_grad() = gradient;
      sgd.step();
    }
    EXPECT_TRUE(torch::allclose(weights, expected, 1e-5, 1e-6));
  });
}

INSTANTIATE_TEST_SUITE_P(Nesterov, DgcOfEverything, ::testing::Bool());

TEST(Dgc, OfEverythingWithMaskingIsPlainDescent) {
  const World world = make_world(101, false);
  run_in_process(1, [&](Collective& network) {
    Session session(dgc({{"ratio", 1}}), world, network);
    for (int step = 1; step <= 4; ++step) {
      const torch::Tensor gradient = real_gradient(world, 0, step);
      EXPECT_TRUE(session.step(gradient, step).equal(gradient)) << step;
    }
  });
}

// Kept fractions of 1/4, 1/16, 1/64 and 1/256 for two steps each, then 1/1000, for two tensors of 1024.
TEST(Dgc, WarmsUpInThePapersStages) {
  const World world = make_world(2048, false);
  run_in_process(1, [&](Collective& network) {
    Session session(dgc({{"ratio", 0.001}, {"warm_up_steps", 8}, {"sample", 1}}), world, network);
    const std::vector<std::int64_t> sent = {512, 512, 128, 128, 32, 32, 8, 8, 2, 2};
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const auto step = static_cast<int>(i) + 1;
      const double claimed = session.method().traffic(world.bucket, 1).payload_bytes;
      EXPECT_EQ(non_zero(session.step(torch::arange(1.0F, 2049.0F), step)), sent[i]) << "step " << step;
      EXPECT_GE(claimed, 4 + 20 + 8 * static_cast<double>(sent[i])) << "step " << step;
    }
    EXPECT_EQ(session.method().steady_state_traffic(world.bucket, 1).payload_bytes, 4 + 20 + 8 * 2);
    EXPECT_EQ(session.method().traffic(world.bucket, 1).payload_bytes, 4 + 20 + 8 * 2);
  });
}

TEST(Dgc, ClipsToItsShareOfTheNorm) {
  const World world = make_world(2, false);
  const torch::Tensor gradient = torch::tensor({3.0F, -4.0F});  // of norm 5
  run_in_process(2, [&](Collective& network) {
    Session clipped(dgc({{"ratio", 1}, {"clip", 5}}), world, network);
    EXPECT_TRUE(torch::allclose(clipped.step(gradient, 1), gradient / std::sqrt(2.0)));
    Session within(dgc({{"ratio", 1}, {"clip", 7.1}}), world, network);  // 7.1 / sqrt(2) > 5
    EXPECT_TRUE(within.step(gradient, 1).equal(gradient));
  });
}

// Biases are left dense: the mean over workers of clipped gradients is not larger either.
TEST(Dgc, ClipsWhatIsLeftDenseToo) {
  World world = make_world(2, false);
  const torch::Tensor gradient = torch::tensor({3.0F, -4.0F});
  run_in_process(2, [&](Collective& network) {
    const auto finished = [&](double clip) {
      Session session(dgc({{"clip", clip}}), world, network);
      session.method().begin_step(1);
      Bucket mean = world.bucket;
      mean.side = true;
      mean.gradient = gradient.clone();
      session.method().finish_dense(mean, network.world_size());
      return mean.gradient;
    };
    EXPECT_TRUE(torch::allclose(finished(5), gradient / std::sqrt(2.0)));
    EXPECT_TRUE(finished(7.1).equal(gradient));
    EXPECT_TRUE(finished(0).equal(gradient));
  });
}

TEST(Dgc, KeepsNoMomentumOfWeightsThatArePruned) {
  const World world = make_world(4, false);
  run_in_process(1, [&](Collective& network) {
    Session session(dgc({{"ratio", 0.5}, {"momentum", 0.5}, {"masking", false}}), world, network);
    session.step(torch::tensor({1.0F, -4.0F, 3.0F, 2.0F}), 1);
    session.method().adopt_masks({torch::tensor({false, false}), torch::Tensor()});
    session.method().prepare({world.bucket});
    const torch::Tensor out = session.step(torch::zeros({4}), 2);
    EXPECT_TRUE(out.equal(torch::tensor({0.0F, 0.0F, 0.0F, 3.0F})));
  });
}

TEST(Dgc, IsErrorFeedbackOnlyWithoutMomentumAndClipping) {
  const auto properties = [](const Json& options) {
    return SynchroniserRegistry::instance().make(dgc(options), {"test", ""}, {})->properties();
  };
  EXPECT_EQ(properties({{"momentum", 0}}).estimate, Estimate::error_feedback);
  EXPECT_EQ(properties({{"momentum", 0.9}}).estimate, Estimate::biased);
  EXPECT_EQ(properties({{"momentum", 0}, {"clip", 1}}).estimate, Estimate::biased);
  EXPECT_TRUE(properties({{"momentum", 0.9}}).applies_momentum);
  EXPECT_FALSE(properties({{"momentum", 0}}).applies_momentum);
  EXPECT_TRUE(properties({{"sample", 0.01}}).traffic_depends_on_data);
  EXPECT_FALSE(properties({{"sample", 1}}).traffic_depends_on_data);
}

class DgcRandomBlock : public ::testing::TestWithParam<bool> {};

// v after two steps, of which the second has no gradient, for tensors of four entries of which one is sent: what was sent
// in the first step is the momentum of one step, or nothing with masking; all others are one and a half gradients.
TEST_P(DgcRandomBlock, EntriesKeepTheirMomentumUnlessTheyAreSentAndMasked) {
  const bool masking = GetParam();
  const World world = make_world(8, false);
  run_in_process(1, [&](Collective& network) {
    Session session(
        dgc({{"ratio", 0.25}, {"momentum", 0.5}, {"masking", masking}, {"sparsifier", "random_block"}}),
        world, network);
    const torch::Tensor gradient = torch::arange(1, 9, torch::kFloat32);
    const torch::Tensor sent = session.step(gradient, 1);
    EXPECT_EQ(sent.narrow(0, 0, 4).count_nonzero().item<int>(), 1);
    EXPECT_EQ(sent.narrow(0, 4, 4).count_nonzero().item<int>(), 1);
    EXPECT_TRUE(sent.equal(torch::where(sent.ne(0), gradient, 0.0F)));
    EXPECT_TRUE(residual_of(session, world).equal(gradient - sent));
    const torch::Tensor momentum = torch::where(sent.ne(0), masking ? 0.0F : 0.5F, 1.5F) * gradient;
    const torch::Tensor out = session.step(torch::zeros({8}), 2);
    EXPECT_TRUE((out + residual_of(session, world)).equal(momentum));
  });
}

INSTANTIATE_TEST_SUITE_P(Masking, DgcRandomBlock, ::testing::Bool());

TEST(DgcRandomBlocks, AreOneAllReduceWhoseSizeFollowsTheWarmUp) {
  const World world = make_world(101, false);  // tensors of 51 and 50 entries
  const auto made = SynchroniserRegistry::instance().make(
      dgc({{"ratio", 0.1}, {"warm_up_steps", 3}, {"sparsifier", "random_block"}}), {"test", ""},
      {.parameters = world.parameters, .kept = world.kept, .weights = {}});
  EXPECT_TRUE(made->properties().all_reduce_compatible);
  EXPECT_TRUE(made->properties().traffic_depends_on_data);
  made->begin_step(1);
  EXPECT_EQ(made->traffic(world.bucket, 4).payload_bytes, 4 * (12 + 12 + 1)) << "a quarter of the entries";
  EXPECT_EQ(made->steady_state_traffic(world.bucket, 4).payload_bytes, 4 * (5 + 5 + 1));
  made->begin_step(4);
  EXPECT_EQ(made->traffic(world.bucket, 4).payload_bytes, 4 * (5 + 5 + 1));
}

TEST(DgcRandomBlocks, RefuseOptionsOfTheLargestEntries) {
  for (const Json& option : {Json{{"indices", "golomb"}}, Json{{"sample", 1}}}) {
    Json method = dgc({{"sparsifier", "random_block"}});
    method.update(option);
    EXPECT_THAT(
        [&] {
          SynchroniserRegistry::instance().make(method, {"test", ""}, {});
        },
        ::testing::ThrowsMessage<InputError>(::testing::AllOf(::testing::HasSubstr(option.begin().key()),
                                                              ::testing::HasSubstr("leave it out"))));
  }
}

// Clipping the result would lose part of the residuals in it.
TEST(Dgc, LetsTrainingClipEachWorkersGradientWhateverTheOptions) {
  for (const Json& options :
       {Json{{"momentum", 0.9}}, Json{{"momentum", 0}}, Json{{"momentum", 0}, {"clip", 1}}}) {
    const auto method = SynchroniserRegistry::instance().make(dgc(options), {"test", ""}, {});
    EXPECT_EQ(method->clipping(), Clipping::local) << options;
  }
}

}  // namespace
}  // namespace thinpipe::trainer
