// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/index_vote.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;

TEST(IndexVote, EveryWorkerGetsTheVotersIndices) {
  run_in_process(3, [](Collective& network) {
    const IndexVote vote(1000, 2);
    const std::vector<std::uint32_t> own =
        network.rank() == 1 ? std::vector<std::uint32_t>{0, 999} : std::vector<std::uint32_t>{};
    EXPECT_THAT(vote.broadcast(own, 1, network), ElementsAre(0, 999));
  });
}

TEST(IndexVote, IsABitmapIfThatIsShorter) {
  EXPECT_EQ(IndexVote(1000, 500).bytes(), 125);
  EXPECT_LT(IndexVote(1000, 10).bytes(), 125);
}

TEST(IndexVote, EveryWorkerGetsTheVotersCount) {
  run_in_process(3, [](Collective& network) {
    EXPECT_EQ(broadcast_count(10 * network.rank(), 2, network), 20);
    EXPECT_EQ(broadcast_count(10 * network.rank(), 0, network), 0);
  });
}

}  // namespace
}  // namespace thinpipe::trainer
