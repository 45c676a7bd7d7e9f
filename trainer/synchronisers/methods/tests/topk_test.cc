// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::exact_mean;
using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

TEST(TopK, SendsTheLargestAndKeepsTheRestForLater) {
  const World world = make_world(4, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "topk"}, {"ratio", 0.5}}, world, network);
    EXPECT_TRUE(torch::equal(session.step(torch::tensor({1.0F, -5.0F, 3.0F, 2.0F}), 1),
                             torch::tensor({0.0F, -5.0F, 3.0F, 0.0F})));
    // e = (1, 0, 0, 2); with the gradient (2, 0, 0, 1) both become 3.
    EXPECT_TRUE(torch::equal(session.step(torch::tensor({2.0F, 0.0F, 0.0F, 1.0F}), 2),
                             torch::tensor({3.0F, 0.0F, 0.0F, 3.0F})));
  });
}

TEST(TopK, ConservesWhatItDelays) {
  // Without new gradients the residual is sent in ceil(n / k) steps, and then everything that went in has
  // come out.
  const World world = make_world(100, false);
  run_in_process(4, [&](Collective& network) {
    Session session({{"name", "topk"}, {"ratio", 0.1}}, world, network);
    torch::Tensor total = session.step(integer_gradient(world, network.rank(), 1), 1);
    for (int step = 2; step <= 10; ++step) total += session.step(torch::zeros({100}), step);
    EXPECT_TRUE(torch::equal(total.to(torch::kDouble), exact_mean(world, 4, 1)));
    EXPECT_TRUE(session.step(torch::zeros({100}), 11).eq(0).all().item<bool>());
  });
}

TEST(TopK, ResidualFollowsItsParameterIntoAnotherLayout) {
  World world = make_world(4, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "topk"}, {"ratio", 0.25}}, world, network);
    session.step(torch::tensor({1.0F, 2.0F, 3.0F, 4.0F}), 1);  // leaves 1 2 | 3 0
    Bucket swapped = world.bucket;
    swapped.slices = {{.parameter = 1, .offset = 0, .size = 2}, {.parameter = 0, .offset = 2, .size = 2}};
    swapped.gradient = torch::zeros({4});
    session.method().prepare({swapped});
    session.method().begin_step(2);
    session.method().synchronise(swapped, network);
    EXPECT_TRUE(torch::equal(swapped.gradient, torch::tensor({3.0F, 0.0F, 0.0F, 0.0F})));
  });
}

constexpr int workers = 8;
const std::vector<int> parents = {4, 0, 0, -1, 3, 3, 5, 5};

// Rank 0's results of three steps, and the bytes that all workers sent for them.
struct ThreeSteps {
  torch::Tensor result;
  double sent_bytes = 0;
};

ThreeSteps three_steps(const Json& method, const std::vector<int>& along) {
  const World world = make_world(40'000, false);
  ThreeSteps out;
  std::mutex mutex;
  run_in_process(workers, along, [&](std::unique_ptr<Collective> member) {
    const int rank = member->rank();
    MeteredCollective network(std::move(member));
    Session session(method, world, network);
    torch::Tensor result;
    for (int step = 1; step <= 3; ++step)
      result = session.step(integer_gradient(world, rank / 2, step), step);
    const std::lock_guard lock(mutex);
    out.sent_bytes += network.traffic().sent_bytes;
    if (rank == 0) out.result = result;
  });
  return out;
}

// Pairs of workers have the same gradient, so half of all entries are merged on the way.
TEST(TopK, MergedOnTheWayComesToTheSameForFewerBytes) {
  for (const Json& method : {Json{{"name", "topk"}, {"ratio", 0.02}}, Json{{"name", "topk"}, {"ratio", 0.3}},
                             Json{{"name", "dgc"}, {"ratio", 0.02}, {"momentum", 0.5}}}) {
    Json merged = method;
    merged["indices"] = "sparse_all_reduce";
    Json gathered = method;
    gathered["indices"] = "u16";
    const ThreeSteps expected = three_steps(gathered, parents);
    const ThreeSteps by_tree = three_steps(merged, parents);
    EXPECT_TRUE(torch::equal(by_tree.result, expected.result)) << method;
    EXPECT_LT(by_tree.sent_bytes, 0.8 * expected.sent_bytes) << method;
    // Without a tree, messages are gathered.
    const ThreeSteps without = three_steps(merged, {});
    EXPECT_TRUE(torch::equal(without.result, expected.result)) << method;
    EXPECT_EQ(without.sent_bytes, expected.sent_bytes) << method;
  }
}

TEST(TopK, InsideDeepReduceIsNotMerged) {
  const Json inner = {{"name", "topk"}, {"ratio", 0.1}, {"indices", "sparse_all_reduce"}};
  const ThreeSteps expected = three_steps({{"name", "deepreduce"}, {"inner", inner}}, {});
  EXPECT_EQ(three_steps({{"name", "deepreduce"}, {"inner", inner}}, parents).sent_bytes, expected.sent_bytes);
}

TEST(TopK, ForgetsWhatItHeldBackOfWeightsThatArePruned) {
  World world = make_world(4, false);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "topk"}, {"ratio", 0.25}}, world, network);
    session.step(torch::tensor({1.0F, 2.0F, 3.0F, 4.0F}), 1);  // leaves 1 2 | 3 0
    session.method().adopt_masks({torch::tensor({true, false}), torch::Tensor()});
    session.method().prepare({world.bucket});
    EXPECT_TRUE(torch::equal(session.step(torch::zeros({4}), 2), torch::tensor({0.0F, 0.0F, 3.0F, 0.0F})));
    EXPECT_TRUE(torch::equal(session.step(torch::zeros({4}), 3), torch::tensor({1.0F, 0.0F, 0.0F, 0.0F})));
    EXPECT_TRUE(session.step(torch::zeros({4}), 4).eq(0).all().item<bool>());
  });
}

}  // namespace
}  // namespace thinpipe::trainer
