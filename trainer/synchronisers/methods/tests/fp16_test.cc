// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

TEST(Fp16, HalvesItsScaleAfterAnOverflowAndSaysSoInItsState) {
  const World world = make_world(4, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "fp16"}}, world, network);
    // 100 x 1024 is beyond half's 65504 when halved for two workers and summed.
    const torch::Tensor large = torch::full({4}, 100.0F);
    EXPECT_FALSE(std::isfinite(session.step(large, 1, false).sum().item<float>()));
    EXPECT_TRUE(torch::equal(session.step(large, 2), large));
    TensorMap state;
    session.method().save(state, "x.");
    EXPECT_EQ(state.at("x.scale")[0].item<double>(), 512);
  });
}

TEST(Fp16, DoublesItsScaleAfterTwoThousandGoodStepsUpToALimit) {
  const World world = make_world(1, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "fp16"}, {"scale", 16384}}, world, network);
    const auto scale = [&] {
      TensorMap state;
      session.method().save(state, "");
      return state.at("scale")[0].item<double>();
    };
    std::uint64_t step = 0;
    const auto take_good_steps = [&](int count) {
      for (int i = 0; i < count; ++i) session.step(torch::ones({1}), ++step);
    };
    take_good_steps(1999);
    EXPECT_EQ(scale(), 16384);
    take_good_steps(1);
    EXPECT_EQ(scale(), 32768);
    take_good_steps(2000);
    EXPECT_EQ(scale(), 32768);
  });
}

// Near 0, half precision has only multiples of 2^-24: 1e-7 becomes 2^-23, and half of it 2^-24.
TEST(Fp16, AsPyTorchsHookDoesItRoundsBeforeItDivides) {
  const World world = make_world(2, false);
  const torch::Tensor gradient = torch::tensor({1e-7F, 3.0F});
  run_in_process(2, [&](Collective& network) {
    Session pytorch({{"name", "fp16"}, {"variant", "pytorch"}}, world, network);
    EXPECT_TRUE(pytorch.step(gradient, 1).equal(torch::tensor({0x1p-23F, 3.0F})));
    Session scaled({{"name", "fp16"}}, world, network);
    EXPECT_TRUE(scaled.step(gradient, 1).allclose(gradient, 1e-3, 0));
  });
}

}  // namespace
}  // namespace thinpipe::trainer
