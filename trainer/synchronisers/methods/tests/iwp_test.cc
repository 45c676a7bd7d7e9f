// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

// Selects a share of each tensor.
Json iwp(double ratio, int voters) {
  return {{"name", "iwp"}, {"ratio", ratio}, {"voters", voters}, {"threshold", "share"}};
}

World world_of(const torch::Tensor& first_weights, const torch::Tensor& second_weights) {
  World world = make_world(first_weights.numel() + second_weights.numel(), false);
  world.weights = {first_weights, second_weights};
  return world;
}

TEST(Iwp, SendsWhatIsLargeForItsWeight) {
  // The importances are 2/1 and 5/10; 3/4 and 3/0.003, which is the floor: a thousandth of the root mean
  // square.
  const World world = world_of(torch::tensor({1.0F, -10.0F}), torch::tensor({4.0F, 0.0F}));
  run_in_process(1, [&](Collective& network) {
    Session session(iwp(0.5, 1), world, network);
    session.set_learning_rate(0);
    EXPECT_TRUE(session.step(torch::tensor({-2.0F, 5.0F, 3.0F, 3.0F}), 1)
                    .equal(torch::tensor({-2.0F, 0.0F, 0.0F, 3.0F})));
    // The residual is (0, 5 | 3, 0): 1/1 and 5/10, 5/4 and 0.
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

// Steps that an exchange overlaps with change the weights before it ends.
TEST(Iwp, GoesByTheWeightsAtTheBeginningOfTheExchange) {
  const World world = world_of(torch::ones({2}), torch::ones({2}));
  run_in_process(1, [&](Collective& network) {
    std::vector<torch::Tensor> weights = {torch::ones({2}), torch::ones({2})};
    const auto method = SynchroniserRegistry::instance().make(
        iwp(0.5, 1), {"test", ""}, {.parameters = world.parameters, .kept = {}, .weights = weights});
    Bucket bucket = world.bucket;
    method->prepare({bucket});
    method->begin_step(1);
    weights[0][0] = 100;
    bucket.gradient = torch::tensor({5.0F, 2.0F, 1.0F, 0.0F});
    method->synchronise(bucket, network);
    EXPECT_TRUE(bucket.gradient.equal(torch::tensor({5.0F, 0.0F, 1.0F, 0.0F}))) << bucket.gradient;
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

// Worker r votes for entry r. All workers send the entries that a voter selects, without a residual; each
// worker is a voter in turn.
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
      trainer::Bucket residual = world.bucket;
      residual.gradient = torch::zeros({2 * workers});
      session.method().add_residual(residual);
      EXPECT_EQ(residual.gradient[sent.item<std::int64_t>()].item<float>(), 0);
    }
    EXPECT_THAT(wanted, ::testing::SizeIs(workers));
  });
}

TEST(Iwp, SendsWhatAnyOfItsVotersWants) {
  constexpr int workers = 3;
  const World world = world_of(torch::ones({6}), torch::ones({6}));
  run_in_process(workers, [&](Collective& network) {
    MeteredCollective metered(std::make_unique<Borrowed>(network));
    Session session(iwp(1.0 / 6, 9), world, metered);
    torch::Tensor gradient = torch::zeros({12});
    gradient[network.rank()] = 3;  // different on each worker
    gradient[11] = 1;              // the same on all workers
    torch::Tensor expected = torch::zeros({12});
    expected.narrow(0, 0, workers).fill_(1);
    expected[11] = 1;
    EXPECT_TRUE(session.step(gradient, 1).equal(expected));
    // Each of the three workers broadcasts 2 bytes and reduces 3 + 1 entries and one more.
    EXPECT_EQ(metered.traffic().payload_bytes, 2 + 4 * (4 + 1));
  });
}

TEST(Iwp, ExpectsOfIndependentVotersWhatTheyMiss) {
  const World world = make_world(200, false);
  run_in_process(1, [&](Collective& network) {
    Session session(iwp(0.1, 2), world, network);
    // Of each 100 entries 100·(1 - 0.9²) = 19 are selected. A vote for 20 of 200 in Golomb's code has a byte
    // for b = 3 and at most 20·4 + 25 bits; two of four workers broadcast one copy each.
    const ExpectedTraffic traffic = session.method().steady_state_traffic(world.bucket, 4);
    EXPECT_EQ(traffic.payload_bytes, 4 * (2 * 19 + 1) + 15 * 2 / 4.0);
    EXPECT_EQ(traffic.sent_bytes, 2 * 4 * (2 * 19 + 1) * 3 / 4.0 + 2 * 15 * 3 / 4.0);
  });
}

// At the default ratio a bitmap takes 8 times as much.
TEST(Iwp, VotesInTheShorterOfTwoCodes) {
  const World world = make_world(64 * 1000, false);
  const auto broadcast_bytes = [&](double ratio) {
    double bytes = 0;
    run_in_process(1, [&](Collective& network) {
      MeteredCollective metered(std::make_unique<Borrowed>(network));
      Session session({{"name", "iwp"}, {"ratio", ratio}}, world, metered);
      session.step(testing::real_gradient(world, 0, 1) + 2, 1);  // none is zero
      const auto entries = static_cast<double>(std::floor(ratio * 64 * 1000)) + 1;
      const auto payload_bytes = static_cast<double>(metered.traffic().payload_bytes);
      bytes = payload_bytes - 4 * entries;
      EXPECT_EQ(session.method().traffic(world.bucket, 1).payload_bytes, payload_bytes);
    });
    return bytes;
  };
  EXPECT_EQ(broadcast_bytes(1.0 / 64), 1 + 1000);
  EXPECT_EQ(broadcast_bytes(0.5), 64 * 1000 / 8);
}

// Two tensors of two entries: the bucket's two most important entries are in one of them.
TEST(Iwp, ByImportanceOneTensorMaySendAllAndAnotherNothing) {
  const World world = world_of(torch::tensor({1.0F, 1.0F}), torch::tensor({10.0F, 10.0F}));
  for (const std::string scope : {"bucket", "model"}) {
    run_in_process(1, [&](Collective& network) {
      const Json options = {{"name", "iwp"}, {"ratio", 0.5}, {"threshold", "importance"}, {"scope", scope}};
      Session session(options, world, network);
      EXPECT_EQ(session.method().needs_one_bucket(), scope == "model");
      EXPECT_TRUE(session.step(torch::tensor({2.0F, 3.0F, 9.0F, 9.0F}), 1)
                      .equal(torch::tensor({2.0F, 3.0F, 0.0F, 0.0F})));
    });
  }
}

// The other tensor's weights are 1, so a weight of zero counts as a thousandth of sqrt(1/2).
TEST(Iwp, ByImportanceATensorOfZeroWeightsHasItsFloorFromTheBucket) {
  const World world = world_of(torch::zeros({2}), torch::ones({2}));
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "iwp"}, {"ratio", 0.25}}, world, network);
    session.set_learning_rate(0);
    EXPECT_TRUE(session.step(torch::tensor({0.0F, 0.001F, 1.4F, 0.0F}), 1)
                    .equal(torch::tensor({0.0F, 0.001F, 0.0F, 0.0F})));
    EXPECT_TRUE(session.step(torch::tensor({0.0F, 0.0005F, 0.0F, 0.0F}), 2)
                    .equal(torch::tensor({0.0F, 0.0F, 1.4F, 0.0F})));
  });
}

// The importances are 2, 0.4, 0.6 and 0.4: two are above 0.5. The next step has only the residual.
TEST(Iwp, AFixedThresholdSelectsAnyNumberOfEntries) {
  const World world = world_of(torch::ones({2}), torch::full({2}, 10.0F));
  for (const std::string scope : {"bucket", "model"}) {
    run_in_process(1, [&](Collective& network) {
      MeteredCollective metered(std::make_unique<Borrowed>(network));
      const Json options = {{"name", "iwp"}, {"threshold", "fixed"}, {"alpha", 0.5}, {"scope", scope}};
      Session session(options, world, metered);
      session.set_learning_rate(0);
      EXPECT_EQ(session.method().needs_one_bucket(), scope == "model");
      EXPECT_TRUE(session.step(torch::tensor({-2.0F, 0.4F, 6.0F, 4.0F}), 1)
                      .equal(torch::tensor({-2.0F, 0.0F, 6.0F, 0.0F})));
      // The number of entries, a bit for each of four, and two entries and one more.
      EXPECT_EQ(metered.traffic().payload_bytes, 4 + 1 + 4 * (2 + 1));
      EXPECT_TRUE(session.step(torch::zeros({4}), 2).equal(torch::zeros({4})));
      EXPECT_EQ(metered.traffic().payload_bytes, 17 + 4 + 4) << "no vote without entries";
      EXPECT_TRUE(session.step(torch::tensor({0.0F, 0.2F, 0.0F, 0.0F}), 3)
                      .equal(torch::tensor({0.0F, 0.6F, 0.0F, 0.0F})));
    });
  }
}

// Each worker's vote has another number of entries.
TEST(Iwp, VotersWithAFixedThresholdNeedNotAgreeOnANumber) {
  constexpr int workers = 4;
  const World world = world_of(torch::ones({6}), torch::ones({6}));
  run_in_process(workers, [&](Collective& network) {
    Session session({{"name", "iwp"}, {"threshold", "fixed"}, {"alpha", 2.0}, {"voters", 9}}, world, network);
    torch::Tensor gradient = torch::ones({12});
    gradient.narrow(0, 0, network.rank()).fill_(4);
    torch::Tensor expected = torch::zeros({12});
    expected[0] = 13.0 / 4;  // 1, 4, 4 and 4
    expected[1] = 10.0 / 4;
    expected[2] = 7.0 / 4;
    EXPECT_TRUE(session.step(gradient, 1).equal(expected));
  });
}

TEST(Iwp, CountsTheEntriesOfEachLayerForTheRecord) {
  const World world = world_of(torch::tensor({1.0F, 1.0F}), torch::tensor({10.0F, 10.0F}));
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "iwp"}, {"ratio", 0.5}}, world, network);
    session.set_learning_rate(0);
    session.step(torch::tensor({2.0F, 3.0F, 9.0F, 9.0F}), 1);
    session.step(torch::tensor({2.0F, 0.0F, 0.0F, 10.0F}), 2);
    session.step(torch::tensor({9.0F, 9.0F, 9.0F, 9.0F}), 3, false);
    const Json state = session.method().state();
    EXPECT_EQ(state.at("steps"), 2) << "one was skipped";
    EXPECT_EQ(state.at("layers").at(0).at("exchanged"), Json({2, 1}));
    EXPECT_EQ(state.at("layers").at(1).at("exchanged"), Json({0, 1}));
  });
}

TEST(Iwp, WarmsUp) {
  const World world = make_world(256, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "iwp"}, {"warm_up_steps", 4}}, world, network);
    const std::vector<std::int64_t> sent = {64, 64, 16, 16, 4, 4};
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const torch::Tensor out = session.step(torch::arange(1.0F, 257.0F), i + 1);
      EXPECT_EQ(out.ne(0).sum().item<std::int64_t>(), sent[i]) << "step " << i + 1;
    }
    EXPECT_EQ(session.method().steady_state_traffic(world.bucket, 1).payload_bytes, 4 * (4 + 1) + 1 + 4);
  });
}

TEST(Iwp, RefusesAWarmUpOfAFixedThreshold) {
  const Json options = {{"name", "iwp"}, {"threshold", "fixed"}, {"warm_up_steps", 4}};
  EXPECT_THROW(SynchroniserRegistry::instance().make(options, {"test", ""}, {}), InputError);
}

TEST(Iwp, RefusesAnAlphaWithoutItsThreshold) {
  const Json options = {{"name", "iwp"}, {"alpha", 0.5}};
  EXPECT_THROW(SynchroniserRegistry::instance().make(options, {"test", ""}, {}), InputError);
}

TEST(Iwp, RefusesAShareOfTheModel) {
  const Json options = {{"name", "iwp"}, {"threshold", "share"}, {"scope", "model"}};
  EXPECT_THROW(SynchroniserRegistry::instance().make(options, {"test", ""}, {}), InputError);
}

}  // namespace
}  // namespace thinpipe::trainer
