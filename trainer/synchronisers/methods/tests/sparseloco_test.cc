// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

Json sparseloco(const Json& options = Json::object()) {
  Json out = {{"name", "sparseloco"}, {"local_steps", 1}};
  out.update(options);
  return out;
}

TEST(Sparseloco, IsTheMeanIfEverythingIsSentAsItIs) {
  constexpr int workers = 3;
  const World world = make_world(100, false);
  run_in_process(workers, [&](Collective& network) {
    Session session(sparseloco({{"beta", 1.0}, {"k", 4096}, {"values", "f32"}}), world, network);
    for (int step = 1; step <= 3; ++step) {
      torch::Tensor sum = torch::zeros({100});
      for (int rank = 0; rank < workers; ++rank) sum += integer_gradient(world, rank, step);
      EXPECT_TRUE(session.step(integer_gradient(world, network.rank(), step), step).allclose(sum / workers));
    }
  });
}

// A matrix of 2 rows and 4 columns is cut into two squares.
World two_squares() {
  World world = make_world(16, false);
  world.parameters[0].rows = 2;
  world.parameters[0].shape = {2, 4};
  return world;
}

TEST(Sparseloco, SendsTheLargestEntriesOfEachSquareWithOneOfTwoMagnitudes) {
  run_in_process(1, [&](Collective& network) {
    const World world = two_squares();
    Session session(sparseloco({{"chunk", 2}, {"k", 3}}), world, network);
    torch::Tensor change = torch::zeros({16});
    // The first square has 8, -1, 3 and 2; the second -5, 5, 0 and 0.
    change.narrow(0, 0, 8).copy_(torch::tensor({8.0F, -1.0F, -5.0F, 5.0F, 3.0F, 2.0F, 0.0F, 0.0F}));
    const torch::Tensor sent = session.step(change, 1).narrow(0, 0, 8);
    // The mean magnitude of 8, 3 and 2 is 4.33. That of 5, 5 and 0 is 3.33.
    EXPECT_TRUE(sent.equal(torch::tensor({8.0F, 0.0F, -5.0F, 5.0F, 2.5F, 2.5F, 0.0F, 0.0F}))) << sent;
  });
}

TEST(Sparseloco, TheResidualDecays) {
  run_in_process(1, [&](Collective& network) {
    const World world = two_squares();
    Session session(sparseloco({{"chunk", 2}, {"k", 1}, {"beta", 0.5}, {"values", "f32"}}), world, network);
    torch::Tensor change = torch::zeros({16});
    change[0] = 8;
    change[1] = 4;
    EXPECT_EQ(session.step(change, 1)[0].item<float>(), 8);
    EXPECT_EQ(session.step(torch::zeros({16}), 2)[1].item<float>(), 2) << "half of what was not sent";
    EXPECT_EQ(session.step(torch::zeros({16}), 3).count_nonzero().item<std::int64_t>(), 0);
  });
}

TEST(Sparseloco, SendsTwelveBitsForAnIndexAndTwoForAValue) {
  World world = make_world(2 * 4096, false);
  run_in_process(1, [&](Collective& network) {
    Session session(sparseloco(), world, network);  // two matrices of 64 x 64
    EXPECT_EQ(session.method().traffic(world.bucket, 1).payload_bytes, 2 * (8 + 64 * 14 / 8));
    EXPECT_EQ(session.method().traffic(world.bucket, 4).delivered_bytes, 3 * 2 * (8 + 64 * 14 / 8));
  });
}

TEST(Sparseloco, APieceOfAVectorHasAsManyEntriesAsASquare) {
  World world = make_world(2 * 4096, false);
  for (ParameterInfo& parameter : world.parameters) {
    parameter.dimensions = 1;
    parameter.rows = 1;
    parameter.shape = {4096};
  }
  run_in_process(1, [&](Collective& network) {
    Session session(sparseloco(), world, network);
    EXPECT_EQ(session.method().traffic(world.bucket, 1).payload_bytes, 2 * (8 + 64 * 14 / 8));
  });
}

TEST(Sparseloco, ExchangesEveryFifteenStepsByDefault) {
  const auto method = SynchroniserRegistry::instance().make({{"name", "sparseloco"}}, {"test", ""}, {});
  EXPECT_EQ(method->local_steps(), 20);
}

}  // namespace
}  // namespace thinpipe::trainer
