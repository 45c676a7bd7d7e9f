// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::exact_mean;
using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

// Three chunks of two, of which one is sent.
const Json one_of_three = {{"name", "topk_chunked"}, {"ratio", 0.34}, {"chunk_size", 2}};

TEST(ChunkedTopK, SendsTheChunksThatAreLargestOverAllWorkers) {
  const World world = make_world(6, false);
  run_in_process(2, [&](Collective& network) {
    Session session(one_of_three, world, network);
    // Squared norms: 2 + 2, 4 + 0 and 0 + 2.25. The first two are equal, so the lower index is sent.
    const torch::Tensor own = network.rank() == 0 ? torch::tensor({1.0F, 1.0F, 2.0F, 0.0F, 0.0F, 0.0F})
                                                  : torch::tensor({1.0F, -1.0F, 0.0F, 0.0F, 1.5F, 0.0F});
    const torch::Tensor none = torch::zeros({6});
    EXPECT_TRUE(session.step(own, 1).equal(torch::tensor({1.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F})));
    EXPECT_TRUE(session.step(none, 2).equal(torch::tensor({0.0F, 0.0F, 1.0F, 0.0F, 0.0F, 0.0F})));
    EXPECT_TRUE(session.step(none, 3).equal(torch::tensor({0.0F, 0.0F, 0.0F, 0.0F, 0.75F, 0.0F})));
    EXPECT_TRUE(session.step(none, 4).equal(none));
  });
}

TEST(ChunkedTopK, PadsTheLastChunk) {
  const World world = make_world(5, false);
  run_in_process(2, [&](Collective& network) {
    Session session(one_of_three, world, network);
    EXPECT_EQ(session.method().traffic(world.bucket, 2).payload_bytes, 4 * 3 + 4 * 2);
    const torch::Tensor own = torch::tensor({0.0F, 0.0F, 0.0F, 1.0F, 3.0F});
    EXPECT_TRUE(session.step(own, 1).equal(torch::tensor({0.0F, 0.0F, 0.0F, 0.0F, 3.0F})));
  });
}

TEST(ChunkedTopK, OfEverythingIsTheMean) {
  const World world = make_world(301, false);
  run_in_process(4, [&](Collective& network) {
    Session session({{"name", "topk_chunked"}, {"ratio", 1}}, world, network);
    const torch::Tensor out = session.step(integer_gradient(world, network.rank(), 1), 1);
    EXPECT_TRUE(out.to(torch::kDouble).equal(exact_mean(world, 4, 1)));
  });
}

// Squares that overflow a float count as the largest, but a non-finite entry is chosen first.
TEST(ChunkedTopK, DoesNotTakeTheLargeForTheInfinite) {
  const World world = make_world(6, false);
  run_in_process(2, [&](Collective& network) {
    Session session(one_of_three, world, network);
    const torch::Tensor large = torch::tensor({1e30F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F});
    EXPECT_TRUE(session.step(large, 1).equal(large));
    torch::Tensor poisoned = large.clone();
    if (network.rank() == 1) poisoned[5] = -INFINITY;
    EXPECT_FALSE(session.step(poisoned, 2, false)[5].isfinite().item<bool>());
  });
}

}  // namespace
}  // namespace thinpipe::trainer
