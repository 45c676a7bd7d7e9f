// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"
#include "trainer/synchronisers/transforms/block_transform.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

TEST(BlockTransform, CosinesAreOrthonormal) {
  const auto half_root = static_cast<float>(std::sqrt(0.5));
  const torch::Tensor two = torch::tensor({half_root, half_root, half_root, -half_root}).view({2, 2});
  EXPECT_TRUE(cosine_matrix(2).allclose(two, 0, 1e-7));
  for (const std::int64_t size : {1, 2, 5, 64, 256}) {
    // In double precision: float32 products differ between CPUs by as much as the tolerance for the cosines.
    const torch::Tensor cosines = cosine_matrix(size).to(torch::kDouble);
    EXPECT_TRUE(cosines.mm(cosines.t()).allclose(torch::eye(size, torch::kDouble), 0, 1e-6)) << size;
    EXPECT_GT(cosines[0].min().item<double>(), 0) << "the first frequency is the mean";
  }
}

TEST(BlockTransform, EdgesAreBlocksOfTheirOwn) {
  const std::vector<BlockGrid> expected = {
      {.row = 0, .column = 0, .down = 1, .across = 2, .height = 3, .width = 3},
      {.row = 0, .column = 6, .down = 1, .across = 1, .height = 3, .width = 1},
      {.row = 3, .column = 0, .down = 1, .across = 2, .height = 2, .width = 3},
      {.row = 3, .column = 6, .down = 1, .across = 1, .height = 2, .width = 1}};
  EXPECT_TRUE(cut_into_blocks(5, 7, 3) == expected);
  EXPECT_TRUE(cut_into_blocks(1, 6, 3) ==
              std::vector<BlockGrid>({{.down = 1, .across = 2, .height = 1, .width = 3}}));
  EXPECT_TRUE(cut_into_blocks(1, 0, 3).empty());
}

TEST(BlockTransform, ThereAndBackIsTheSame) {
  torch::manual_seed(1);
  const torch::Tensor matrix = torch::randn({50, 23});
  const torch::Tensor back = torch::full_like(matrix, 99);
  BlockTransform transform;
  double energy = 0;
  for (const BlockGrid& grid : cut_into_blocks(50, 23, 8)) {
    const torch::Tensor coefficients = transform.forward(matrix, grid);
    energy += coefficients.square().sum().item<double>();
    transform.inverse(coefficients, grid, back);
  }
  EXPECT_TRUE(back.allclose(matrix, 0, 1e-5));
  EXPECT_NEAR(energy, matrix.square().sum().item<double>(), 1e-4 * energy);
}

TEST(BlockTransform, BlocksLieRowByRow) {
  // Two blocks of 2×2, whose first coefficients are twice their means.
  const torch::Tensor matrix = torch::tensor({1.0F, 1.0F, 3.0F, 3.0F, 1.0F, 1.0F, 3.0F, 3.0F}).view({2, 4});
  const torch::Tensor coefficients = BlockTransform().forward(matrix, cut_into_blocks(2, 4, 2).front());
  const torch::Tensor expected = torch::tensor({2.0F, 0.0F, 0.0F, 0.0F, 6.0F, 0.0F, 0.0F, 0.0F}).view({2, 4});
  EXPECT_TRUE(coefficients.allclose(expected, 0, 1e-5));
}

torch::Tensor momentum_of_first(Session& session) {
  TensorMap state;
  session.method().save(state, "");
  return state.at("momentum.residual.a");
}

// The coefficients of a pair (a, b) are (a + b)/√2 and (a - b)/√2.
TEST(Demo, SendsTheStrongestFrequencyAndKeepsTheOther) {
  const World world = make_world(4, false);  // two tensors of two
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "demo"}, {"k", 1}, {"beta", 0.5}}, world, network);
    session.set_learning_rate(0.5);
    // m = (3, 1): the mean, 2 and 2, is sent; 1 and -1 stay.
    EXPECT_TRUE(session.step(torch::tensor({6.0F, 2.0F, 0.0F, 0.0F}), 1)
                    .equal(torch::tensor({1.0F, 1.0F, 0.0F, 0.0F})));
    EXPECT_TRUE(momentum_of_first(session).allclose(torch::tensor({1.0F, -1.0F}), 0, 1e-5));
    // m = (0.5, -0.5) + (1, 1): the mean again.
    EXPECT_TRUE(session.step(torch::tensor({2.0F, 2.0F, 0.0F, 0.0F}), 2)
                    .equal(torch::tensor({1.0F, 1.0F, 0.0F, 0.0F})));
    EXPECT_TRUE(momentum_of_first(session).allclose(torch::tensor({0.5F, -0.5F}), 0, 1e-5));
    EXPECT_TRUE(session.step(torch::zeros({4}), 3).equal(torch::tensor({1.0F, -1.0F, 0.0F, 0.0F})));
  });
}

TEST(Demo, AveragesACoefficientOverItsSenders) {
  const World world = make_world(4, false);
  run_in_process(3, [&](Collective& network) {
    Session session({{"name", "demo"}, {"k", 1}}, world, network);
    session.set_learning_rate(1);
    // Two workers send (2, 2); the third sends its difference, (3, -3). The means add up to (5, -1), all three to
    // (7, 1).
    const torch::Tensor own = network.rank() < 2 ? torch::tensor({3.0F, 1.0F, 0.0F, 0.0F})
                                                 : torch::tensor({1.0F, -5.0F, 0.0F, 0.0F});
    EXPECT_TRUE(session.step(own, 1).equal(torch::tensor({1.0F, -1.0F, 0.0F, 0.0F})));
  });
}

TEST(Demo, WithEveryCoefficientIsTheSignOfTheMean) {
  const World world = make_world(1000, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "demo"}, {"chunk", 4}, {"k", 16}}, world, network);
    const torch::Tensor own = integer_gradient(world, network.rank(), 1);
    const torch::Tensor sum = integer_gradient(world, 0, 1) + integer_gradient(world, 1, 1);
    const torch::Tensor out = session.step(own, 1);
    // Rounding gives a zero sum a sign.
    EXPECT_TRUE(out.masked_select(sum.ne(0)).equal(sum.sign().masked_select(sum.ne(0))));
    EXPECT_LE(momentum_of_first(session).abs().max().item<float>(), 1e-5F);
  });
}

TEST(Demo, SmallChunksSendNoMoreThanTheyHave) {
  const World world = make_world(12, false);  // two matrices of 2×3: chunks of 2×2 and of 2×1 each
  const auto method = SynchroniserRegistry::instance().make(
      {{"name", "demo"}, {"chunk", 2}, {"k", 3}}, {},
      {.parameters = world.parameters, .kept = world.kept, .weights = world.weights});
  EXPECT_EQ(method->traffic(world.bucket, 4).payload_bytes, 2 * 6 * (3 + 2));
  EXPECT_TRUE(method->properties().applies_momentum);
}

}  // namespace
}  // namespace thinpipe::trainer
