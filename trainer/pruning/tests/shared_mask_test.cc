// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/shared_mask.hh"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/replica_check.hh"
#include "trainer/pruning/tests/two_layers.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ThrowsMessage;

Mask example(std::int64_t flipped = -1) {
  torch::Tensor first = torch::arange(10).remainder(3).eq(0);
  if (flipped >= 0) first[flipped] = !first[flipped].item<bool>();
  return Mask({{"fc1.weight", first.view({1, 10})}, {"fc2.weight", torch::ones({1, 3}, torch::kBool)}});
}

TEST(SharedMask, PT3_EveryWorkerHasRank0sMask) {
  std::atomic<int> choices = 0;
  run_in_process(3, [&](Collective& network) {
    const trainer::testing::TwoLayers model(std::vector<float>(10, 1), {1, 2, 3});
    const Mask mask = share_mask(
        model,
        [&] {
          ++choices;
          EXPECT_EQ(network.rank(), 0);
          return example();
        },
        network);
    EXPECT_EQ(testing::bits_of(mask), "1001001001 111");
    EXPECT_NO_THROW(check_mask_replicas(mask, network));
  });
  EXPECT_EQ(choices, 1);
}

TEST(SharedMask, PT3_OneFlippedBitOnOneRankStopsAll) {
  for (const std::int64_t bit : {0, 9}) {
    run_in_process(4, [&](Collective& network) {
      const Mask mask = example(network.rank() == 2 ? bit : -1);
      EXPECT_THAT([&] { check_mask_replicas(mask, network); },
                  ThrowsMessage<DivergenceError>("the pruning mask of rank 2 differs from rank 0's"));
    });
  }
}

}  // namespace
}  // namespace thinpipe::trainer
