#include <cmath>

#include <gtest/gtest.h>

#include "trainer/collectives/in_process.hh"
#include "trainer/synchronisers/tests/session.hh"

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

}  // namespace
}  // namespace thinpipe::trainer
