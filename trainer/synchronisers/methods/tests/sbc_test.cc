// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/borrowed.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

Json sbc(double ratio) {
  return {{"name", "sbc"}, {"ratio", ratio}, {"local_steps", 1}};
}

torch::Tensor sbc_residual(Session& session, const World& world) {
  Bucket bucket = world.bucket;
  bucket.gradient = torch::zeros({bucket.size});
  session.method().add_residual(bucket);
  return bucket.gradient;
}

TEST(Sbc, SendsTheMeanOfTheStrongerSign) {
  const World world = make_world(8, false);  // two tensors of four: two entries of each
  run_in_process(1, [&](Collective& network) {
    Session session(sbc(0.5), world, network);
    const torch::Tensor change = torch::tensor({3.0F, 1.0F, -1.0F, 2.0F, -4.0F, 5.0F, -2.0F, 0.0F});
    // 2.5 against 1; -3 against 5: the mean is over the positive entries that there are.
    EXPECT_TRUE(
        session.step(change, 1).equal(torch::tensor({2.5F, 0.0F, 0.0F, 2.5F, 0.0F, 5.0F, 0.0F, 0.0F})));
    EXPECT_TRUE(sbc_residual(session, world)
                    .equal(torch::tensor({0.5F, 1.0F, -1.0F, -0.5F, -4.0F, 0.0F, -2.0F, 0.0F})));
    EXPECT_TRUE(session.method().forgotten_momentum(0).equal(torch::tensor({true, false, false, true})));
    EXPECT_TRUE(session.method().forgotten_momentum(1).equal(torch::tensor({false, true, false, false})));
  });
}

TEST(Sbc, TakesThePositiveSideOfATie) {
  const World world = make_world(4, false);
  run_in_process(1, [&](Collective& network) {
    Session session(sbc(0.5), world, network);
    EXPECT_TRUE(session.step(torch::tensor({-1.0F, 1.0F, -3.0F, -1.0F}), 1)
                    .equal(torch::tensor({0.0F, 1.0F, -3.0F, 0.0F})));
  });
}

TEST(Sbc, EachTensorOfAMessageHasOneSign) {
  const World world = make_world(1000, false);
  run_in_process(1, [&](Collective& network) {
    Session session(sbc(0.1), world, network);
    for (int step = 1; step <= 5; ++step) {
      const torch::Tensor sent = session.step(integer_gradient(world, 0, step), step);
      for (const Slice& slice : world.bucket.slices) {
        const torch::Tensor part = sent.narrow(0, slice.offset, slice.size);
        const torch::Tensor values = part.masked_select(part.ne(0));
        EXPECT_EQ(values.numel(), 50);
        EXPECT_TRUE(values.eq(values[0]).all().item<bool>());
      }
    }
  });
}

TEST(Sbc, AChangeOfOneSignThatIsAllSentIsItsMean) {
  const World world = make_world(4, false);
  run_in_process(2, [&](Collective& network) {
    Session session(sbc(1), world, network);
    const torch::Tensor change = torch::tensor({1.0F, 3.0F, -2.0F, -2.0F}).mul(network.rank() + 1);
    EXPECT_TRUE(session.step(change, 1).equal(torch::tensor({3.0F, 3.0F, -3.0F, -3.0F})));
  });
}

// A plan has the expected length of Golomb's code. Its longest code is 5 % longer.
TEST(Sbc, PlansAboutTheBytesThatItSends) {
  const World world = make_world(200'000, false);
  torch::manual_seed(1);
  const torch::Tensor change = torch::randn({200'000});
  run_in_process(1, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session(sbc(0.01), world, metered);
    session.step(change, 1);
    const double planned = session.method().steady_state_traffic(world.bucket, 1).payload_bytes;
    EXPECT_NEAR(static_cast<double>(metered.traffic().payload_bytes), planned, 0.02 * planned);
    EXPECT_GT(session.method().traffic(world.bucket, 1).payload_bytes, 1.04 * planned);
  });
}

}  // namespace
}  // namespace thinpipe::trainer
