#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/in_process.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/synchronisers/tests/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

Json iwp(double ratio, int voters) {
  return {{"name", "iwp"}, {"ratio", ratio}, {"voters", voters}};
}

World world_of(const torch::Tensor& first_weights, const torch::Tensor& second_weights) {
  World world = make_world(first_weights.numel() + second_weights.numel(), false);
  world.weights = {first_weights, second_weights};
  return world;
}

TEST(Iwp, SendsWhatIsLargeForItsWeight) {
  // 2/1 and 5/10; 3/4 and 3/0.003, which is the floor: a thousandth of the root mean square.
  const World world = world_of(torch::tensor({1.0F, -10.0F}), torch::tensor({4.0F, 0.0F}));
  run_in_process(1, [&](Collective& network) {
    Session session(iwp(0.5, 1), world, network);
    session.set_learning_rate(0);
    EXPECT_TRUE(session.step(torch::tensor({-2.0F, 5.0F, 3.0F, 3.0F}), 1)
                    .equal(torch::tensor({-2.0F, 0.0F, 0.0F, 3.0F})));
    // Held back are (0, 5 | 3, 0): 1/1 and 5/10, 5/4 and 0.
    EXPECT_TRUE(session.step(torch::tensor({1.0F, 0.0F, 2.0F, 0.0F}), 2)
                    .equal(torch::tensor({1.0F, 0.0F, 5.0F, 0.0F})));
  });
}

// -9 moves the first weight from 1 to 10: 5/10 is then less than 2/1.
TEST(Iwp, GoesByTheWeightsAsTheyAreNow) {
  const World world = world_of(torch::ones({2}), torch::ones({2}));
  run_in_process(1, [&](Collective& network) {
    Session session(iwp(0.5, 1), world, network);
    session.set_learning_rate(1);
    session.step(torch::tensor({-9.0F, 0.0F, 0.0F, 0.0F}), 1);
    EXPECT_TRUE(session.step(torch::tensor({5.0F, 2.0F, 0.0F, 0.0F}), 2)
                    .equal(torch::tensor({0.0F, 2.0F, 0.0F, 0.0F})));
  });
}

TEST(Iwp, ATinyWeightCountsAsAThousandthOfTheirRootMeanSquare) {
  // rms = sqrt(2)·1000/2 = 707: 0.5/0.707 is less than 900/1000, 0.7/0.707 is more.
  const World world = world_of(torch::tensor({1000.0F, 0.0F}), torch::tensor({1000.0F, 0.0F}));
  run_in_process(1, [&](Collective& network) {
    Session session(iwp(0.5, 1), world, network);
    EXPECT_TRUE(session.step(torch::tensor({900.0F, 0.5F, 900.0F, 0.7F}), 1)
                    .equal(torch::tensor({900.0F, 0.0F, 0.0F, 0.7F})));
  });
}

TEST(Iwp, TensorsOfZeroWeightsGoByTheGradient) {
  const World world = world_of(torch::zeros({2}), torch::zeros({2}));
  run_in_process(1, [&](Collective& network) {
    Session session(iwp(0.5, 1), world, network);
    EXPECT_TRUE(session.step(torch::tensor({1.0F, -2.0F, 0.0F, 0.0F}), 1)
                    .equal(torch::tensor({0.0F, -2.0F, 0.0F, 0.0F})));
  });
}

// Worker r is for entry r. What one wants, all send and none keeps; each has its turn.
TEST(Iwp, AllSendWhatTheVoterWantsAndEachHasItsTurn) {
  constexpr int workers = 5;
  const World world = world_of(torch::ones({workers}), torch::ones({workers}));
  run_in_process(workers, [&](Collective& network) {
    Session session(iwp(0.2, 1), world, network);
    session.set_learning_rate(0);
    std::set<std::int64_t> wanted;
    for (int step = 1; step <= 40; ++step) {
      torch::Tensor gradient = torch::full({2 * workers}, 0.25F);
      gradient[network.rank()] = 100;
      const torch::Tensor out = session.step(gradient, step);
      ASSERT_TRUE(testing::identical_on_all(network, out));
      const torch::Tensor sent = out.narrow(0, 0, workers).nonzero();
      ASSERT_EQ(sent.numel(), 1);
      wanted.insert(sent.item<std::int64_t>());
      trainer::Bucket held_back = world.bucket;
      held_back.gradient = torch::zeros({2 * workers});
      session.method().add_held_back(held_back);
      EXPECT_EQ(held_back.gradient[sent.item<std::int64_t>()].item<float>(), 0);
    }
    EXPECT_THAT(wanted, ::testing::SizeIs(workers));
  });
}

TEST(Iwp, SendsWhatAnyOfItsVotersWants) {
  constexpr int workers = 3;
  const World world = world_of(torch::ones({6}), torch::ones({6}));
  run_in_process(workers, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<testing::Borrowed>(network));
    Session session(iwp(1.0 / 6, 9), world, metered);
    torch::Tensor gradient = torch::zeros({12});
    gradient[network.rank()] = 3;  // each its own
    gradient[11] = 1;              // all the same
    torch::Tensor expected = torch::zeros({12});
    expected.narrow(0, 0, workers).fill_(1);
    expected[11] = 1;
    EXPECT_TRUE(session.step(gradient, 1).equal(expected));
    // Every one of the three broadcasts 2 bytes and reduces 3 + 1 entries and one more.
    EXPECT_EQ(metered.traffic().payload_bytes, 2 + 4 * (4 + 1));
  });
}

TEST(Iwp, ExpectsOfIndependentVotersWhatTheyMiss) {
  const World world = make_world(200, false);
  run_in_process(1, [&](Collective& network) {
    Session session(iwp(0.1, 2), world, network);
    // Of each 100 entries 100·(1 - 0.9²) = 19; of 25 bytes two of four workers broadcast one copy each.
    const ExpectedTraffic traffic = session.method().settled_traffic(world.bucket, 4);
    EXPECT_EQ(traffic.payload_bytes, 4 * (2 * 19 + 1) + 25 * 2 / 4.0);
    EXPECT_EQ(traffic.sent_bytes, 2 * 4 * (2 * 19 + 1) * 3 / 4.0 + 2 * 25 * 3 / 4.0);
  });
}

}  // namespace
}  // namespace thinpipe::trainer
