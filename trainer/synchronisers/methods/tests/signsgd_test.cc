// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"
#include "trainer/synchronisers/quantised/vote_code.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

const Json votes_gathered = {{"name", "signsgd"}, {"exchange", "all_gather"}};
const Json votes_reduced = {{"name", "signsgd"}, {"exchange", "all_reduce"}};

// All combinations of three workers' votes: worker w's vote on entry i is digit w of i in base 3, less 1.
TEST(SignSgd, TheMajorityDecidesAndTiesAreZero) {
  constexpr std::int64_t ways = 27;
  const World world = make_world(ways, false);
  const auto votes_of = [](int worker) {
    const torch::Tensor entries = torch::arange(ways);
    const auto place = static_cast<std::int64_t>(std::pow(3, worker));
    return entries.div(place, "floor").remainder(3).sub(1).to(torch::kFloat);
  };
  const torch::Tensor expected = (votes_of(0) + votes_of(1) + votes_of(2)).sign();
  for (const Json& method : {votes_gathered, votes_reduced}) {
    run_in_process(3, [&](Collective& network) {
      Session session(method, world, network);
      EXPECT_TRUE(session.step(votes_of(network.rank()).mul(0.01), 1).equal(expected)) << method;
    });
  }
}

TEST(SignSgd, AMinorityChangesNothing) {
  const World world = make_world(100, false);
  const torch::Tensor gradient = integer_gradient(world, 0, 1);
  for (const Json& method : {votes_gathered, votes_reduced}) {
    run_in_process(5, [&](Collective& network) {
      Session session(method, world, network);
      const torch::Tensor own = network.rank() < 2 ? gradient.mul(-100) : gradient;
      EXPECT_TRUE(session.step(own, 1).equal(gradient.sign())) << method;
    });
  }
}

TEST(SignSgd, SignumVotesWithItsMomentum) {
  const World world = make_world(2, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "signsgd"}, {"momentum", 0.5}}, world, network);
    // m = 2 and -2; then 0, which gives no vote, and -2; then -1 and -1.
    EXPECT_TRUE(session.step(torch::tensor({4.0F, -4.0F}), 1).equal(torch::tensor({1.0F, -1.0F})));
    EXPECT_TRUE(session.step(torch::tensor({-2.0F, -2.0F}), 2).equal(torch::tensor({0.0F, -1.0F})));
    EXPECT_TRUE(session.step(torch::tensor({-2.0F, 0.0F}), 3).equal(torch::tensor({-1.0F, -1.0F})));
  });
  EXPECT_TRUE(SynchroniserRegistry::instance()
                  .make({{"name", "signsgd"}, {"momentum", 0.5}}, {}, {})
                  ->properties()
                  .applies_momentum);
  EXPECT_FALSE(
      SynchroniserRegistry::instance().make({{"name", "signsgd"}}, {}, {})->properties().applies_momentum);
}

std::vector<std::uint8_t> vote_message(const std::vector<float>& values) {
  std::vector<std::uint8_t> out;
  append_votes(values, out);
  return out;
}

TEST(VoteCode, TakesABitOrTwoOrNone) {
  EXPECT_THAT(vote_message({5, -5, 5, 5, 5, 5, 5, 5, -5}), ElementsAre(1, 0b11111101, 0b0));
  EXPECT_THAT(vote_message({5, -5, 0, 5, 5}), ElementsAre(2, 0b10'01'00'10, 0b01'01'01'10));
  EXPECT_THAT(vote_message({0, -0.0F, 0, 0, 0, 0}), ElementsAre(0));
  EXPECT_THAT(vote_message({}), ElementsAre(0));
  EXPECT_THAT(vote_message({1, INFINITY, 0}), ElementsAre(3));
  EXPECT_THAT(vote_message({1, std::nanf(""), 1}), ElementsAre(3));
  EXPECT_EQ(usual_vote_bytes(9), 3);
  EXPECT_EQ(largest_vote_bytes(5), 3);
}

TEST(VoteCode, IsCountedTensorAfterTensor) {
  std::vector<std::uint8_t> sent;
  const std::vector<std::vector<float>> tensors = {{1, -1, 1}, {0, -3, 0}, {0, 0, 0}, {NAN, 1, 1}};
  for (const std::vector<float>& tensor : tensors) append_votes(tensor, sent);
  std::span<const std::uint8_t> message = sent;
  std::vector<std::int8_t> votes(3);
  EXPECT_TRUE(add_votes(message, votes));
  EXPECT_TRUE(add_votes(message, votes));
  EXPECT_TRUE(add_votes(message, votes));
  EXPECT_THAT(votes, ElementsAre(1, -2, 1));
  EXPECT_FALSE(add_votes(message, votes));
  EXPECT_TRUE(message.empty());
}

TEST(VoteCode, RefusesWhatItDidNotWrite) {
  std::vector<std::int8_t> votes(9);
  for (const std::vector<std::uint8_t>& wrong :
       std::vector<std::vector<std::uint8_t>>{{}, {4}, {1}, {1, 0}, {2, 0, 0}}) {
    std::span<const std::uint8_t> message = wrong;
    EXPECT_THROW(add_votes(message, votes), CollectiveError);
  }
}

}  // namespace
}  // namespace thinpipe::trainer
