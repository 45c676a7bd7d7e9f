// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/layers/dropout.hh"

#include <gtest/gtest.h>

#include "trainer/models/tests/making.hh"

namespace thinpipe::trainer {
namespace {

// Returns the positions that this worker drops in this step.
torch::Tensor dropped(std::uint64_t seed, int rank, std::int64_t iteration) {
  torch::nn::Sequential model(SeededDropout(0.5), torch::nn::Linear(1, 1));
  DropoutDraws draws(*model, seed, rank);
  draws.begin_step(iteration);
  return model[0]->as<SeededDropout>()->forward(torch::ones({1000})).eq(0);
}

TEST(SeededDropout, IsDecidedBySeedRankAndIterationAlone) {
  const torch::Tensor drops = dropped(7, 1, 5);
  torch::rand({100});  // torch's global generator must have no effect
  EXPECT_TRUE(drops.equal(dropped(7, 1, 5)));
  EXPECT_FALSE(drops.equal(dropped(8, 1, 5)));
  EXPECT_FALSE(drops.equal(dropped(7, 0, 5)));
  EXPECT_FALSE(drops.equal(dropped(7, 1, 6)));
}

TEST(SeededDropout, KeepsTheExpectedShareAndTheMean) {
  torch::nn::Sequential model(SeededDropout(0.25), torch::nn::Linear(1, 1));
  DropoutDraws draws(*model, 1, 0);
  draws.begin_step(0);
  const torch::Tensor out = model[0]->as<SeededDropout>()->forward(torch::ones({100000}));
  EXPECT_NEAR(out.eq(0).to(torch::kDouble).mean().item<double>(), 0.25, 0.01);
  EXPECT_NEAR(out.mean().item<double>(), 1, 0.01);
  model->eval();
  EXPECT_TRUE(model[0]->as<SeededDropout>()->forward(torch::ones({10})).equal(torch::ones({10})));
}

TEST(SeededDropout, IsTheOnlyDropoutOfModels) {
  for (const char* name : {"vit_tiny", "vgg19"}) {
    const auto model = make({{"name", name}, {"dropout", 0.5}}, kCifar);
    int count = 0;
    for (const auto& module : model->modules()) {
      if (module->as<torch::nn::Dropout>() == nullptr) continue;
      EXPECT_NE(module->as<SeededDropout>(), nullptr) << name;
      ++count;
    }
    EXPECT_GT(count, 0) << name;
  }
}

}  // namespace
}  // namespace thinpipe::trainer
