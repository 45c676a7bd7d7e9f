// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using trainer::testing::make_world;
using trainer::testing::real_gradient;
using trainer::testing::Session;
using trainer::testing::World;

Json ef_around(const Json& inner, const std::string& units = "gradient") {
  return {{"name", "ef"}, {"inner", inner}, {"units", units}};
}

torch::Tensor residual_in(Session& session, const World& world) {
  Bucket bucket = world.bucket;
  bucket.gradient = torch::zeros({bucket.size});
  session.method().add_residual(bucket);
  return bucket.gradient;
}

TEST(ErrorFeedback, SendsLaterWhatWasLeftOut) {
  const World world = make_world(4, false);  // two tensors of two
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "ef"}}, world, network);
    EXPECT_TRUE(session.step(torch::tensor({3.0F, 1.0F, -1.0F, -5.0F}), 1)
                    .equal(torch::tensor({2.0F, 2.0F, -3.0F, -3.0F})));
    // p = (0, 0) + (1, -1), which a scale and signs represent exactly, and (1, 0) + (2, -2).
    EXPECT_TRUE(session.step(torch::tensor({0.0F, 0.0F, 1.0F, 0.0F}), 2)
                    .equal(torch::tensor({1.0F, -1.0F, 2.5F, -2.5F})));
    EXPECT_TRUE(residual_in(session, world).equal(torch::tensor({0.0F, 0.0F, 0.5F, 0.5F})));
  });
}

TEST(ErrorFeedback, AroundDenseIsDense) {
  const World world = make_world(101, true);
  run_in_process(3, [&](Collective& network) {
    Session with(ef_around({{"name", "dense"}}), world, network);
    Session without({{"name", "dense"}}, world, network);
    for (int step = 1; step <= 3; ++step) {
      const torch::Tensor gradient = real_gradient(world, network.rank(), step);
      EXPECT_TRUE(with.step(gradient, step).equal(without.step(gradient, step)));
    }
  });
}

// Over all steps, the sum of the results differs from that of the gradients by exactly the final residual.
TEST(ErrorFeedback, ResultsAddUpToTheGradients) {
  const World world = make_world(1000, false);
  run_in_process(1, [&](Collective& network) {
    for (const std::string inner : {"scaled_sign", "qsgd"}) {
      Session session(ef_around({{"name", inner}}), world, network);
      torch::Tensor gradients = torch::zeros({1000});
      torch::Tensor results = torch::zeros({1000});
      for (int step = 1; step <= 50; ++step) {
        const torch::Tensor gradient = real_gradient(world, 0, step);
        gradients += gradient;
        results += session.step(gradient, step);
      }
      const torch::Tensor missed = gradients - results;
      EXPECT_TRUE(missed.allclose(residual_in(session, world), 1e-4, 1e-4)) << inner;
    }
  });
}

// The learning rate falls from 1 to 1/8 with a residual of (1, -1). In updates it still moves weights by as
// much.
TEST(ErrorFeedback, KeepsItsUnitsWhenTheLearningRateFalls) {
  const World world = make_world(4, false);
  const torch::Tensor gradient = torch::tensor({3.0F, 1.0F, 0.0F, 0.0F});
  const auto after_the_fall = [&](const std::string& units, float factor) {
    run_in_process(1, [&](Collective& network) {
      const Json method = ef_around({{"name", "scaled_sign"}}, units);
      const torch::Tensor expected = torch::tensor({factor, -factor, 0.0F, 0.0F});
      Session session(method, world, network);
      session.set_learning_rate(1);
      session.step(gradient, 1);
      TensorMap state;
      session.method().save(state, "synchroniser.");
      session.set_learning_rate(0.125);
      EXPECT_TRUE(session.step(torch::zeros({4}), 2).equal(expected)) << units;
      Session resumed(method, world, network);
      resumed.method().load(state, "synchroniser.");
      resumed.set_learning_rate(0.125);
      EXPECT_TRUE(resumed.step(torch::zeros({4}), 2).equal(expected)) << units << ", resumed";
    });
  };
  after_the_fall("gradient", 1);
  after_the_fall("update", 8);
}

// The residual is (1, -1) in updates after a step with a learning rate of 1.
TEST(ErrorFeedback, AStepWithoutALearningRateLeavesAResidualInUpdatesAlone) {
  const World world = make_world(4, false);
  const torch::Tensor gradient = torch::tensor({3.0F, 1.0F, 0.0F, 0.0F});
  const torch::Tensor kept = torch::tensor({1.0F, -1.0F, 0.0F, 0.0F});
  run_in_process(1, [&](Collective& network) {
    Session session(ef_around({{"name", "scaled_sign"}}, "update"), world, network);
    session.set_learning_rate(0);
    session.step(gradient, 1);
    session.set_learning_rate(1);
    EXPECT_TRUE(session.step(gradient, 2).equal(gradient - kept))
        << "the first step moved nothing and owes nothing";
    session.set_learning_rate(0);
    session.step(torch::zeros({4}), 3);
    session.set_learning_rate(0.5);
    EXPECT_TRUE(session.step(torch::zeros({4}), 4).equal(2 * kept));
  });
}

TEST(ErrorFeedback, HasThePropertiesOfItsInnerMethodExceptTheMean) {
  const Json reduced = {{"name", "terngrad"}, {"exchange", "all_reduce"}};
  const auto method = SynchroniserRegistry::instance().make(ef_around(reduced), {}, {});
  EXPECT_EQ(method->properties().estimate, Estimate::error_feedback);
  EXPECT_TRUE(method->properties().all_reduce_compatible);
  const World world = make_world(100, false);
  EXPECT_EQ(method->traffic(world.bucket, 4).payload_bytes, 2 * 4 + 100);
}

std::string ef_refusal(const Json& inner) {
  try {
    SynchroniserRegistry::instance().make({{"name", "ef"}, {"inner", inner}}, {"x.json", "/synchroniser"},
                                          {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ErrorFeedback, RefusesWhatIsNoCompressor) {
  EXPECT_THAT(ef_refusal({{"name", "topk"}, {"ratio", 0.1}}),
              AllOf(HasSubstr("/synchroniser/inner/name: \"topk\" cannot be put inside ef"),
                    HasSubstr("such as \"scaled_sign\"")));
  EXPECT_THAT(ef_refusal({{"name", "ef"}}), HasSubstr("\"ef\" cannot be put inside ef"));
  EXPECT_THAT(ef_refusal("qsgd"), HasSubstr("/synchroniser/inner: must be an object, but is \"qsgd\""));
  EXPECT_THAT(ef_refusal({{"name", "qsdg"}}), HasSubstr("did you mean \"qsgd\"?"));
  EXPECT_THAT(ef_refusal({{"name", "qsgd"}, {"bits", 3}}),
              HasSubstr("/synchroniser/inner/bits: must be 2, 4 or 8"));
  EXPECT_THAT(ef_refusal({{"name", "qsgd"}, {"bit", 4}}), HasSubstr("did you mean \"bits\"?"));
  EXPECT_EQ(ef_refusal({{"name", "qsgd"}, {"bits", 2}}), "accepted");
}

TEST(ErrorFeedback, IsDescribedAsHoldingAnImplementation) {
  const Json inner = SynchroniserRegistry::instance().entries().at("ef").options.at(0);
  EXPECT_EQ(inner.at("type"), "implementation");
  EXPECT_EQ(inner.at("default"), Json({{"name", "scaled_sign"}}));
}

}  // namespace
}  // namespace thinpipe::trainer
