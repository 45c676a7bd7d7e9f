// SPDX-License-Identifier: Apache-2.0
// All-reduces of blocks of bytes, by every backend that computes its sums itself.
#include <limits>

#include <gtest/gtest.h>

#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/collective.hh"
#include "trainer/collectives/scaled_block.hh"
#include "trainer/collectives/tests/every_backend.hh"

namespace thinpipe::trainer {
namespace {

using testing::identical_on_all;

bool leaves_sums_to_nccl(const World& world) {
  return world.backend.starts_with("nccl");
}

// Whole blocks and others: for each way in which a backend sums small and large vectors.
constexpr std::int64_t value_counts[] = {0, 1, 255, 256, 257, 1000, 5000, 20'000, 300'000};

torch::Tensor summed(Collective& net, const torch::Tensor& values) {
  const torch::Tensor blocks = encode_scaled_blocks(floats(values));
  net.all_reduce(blocks, Reduction::scaled_sum);
  EXPECT_TRUE(identical_on_all(net, blocks)) << values.numel();
  torch::Tensor out = torch::zeros_like(values);
  add_scaled_blocks(blocks, floats(out));
  return out;
}

// Partial sums of equal blocks are on a level again.
TEST_P(CollectiveTest, ScaledSumsOfEqualBlocksAreExact) {
  if (leaves_sums_to_nccl(GetParam())) return;
  run([](Collective& net) {
    for (const std::int64_t n : value_counts) {
      const torch::Tensor values = once(fmt::format("levels {}", n), [&] {
        torch::Tensor out = input(0, n, torch::kFloat32).clone();
        for (std::int64_t i = 0; i < n; i += ScaledBlock::entries) out[i] = 127;
        return out;
      });
      EXPECT_TRUE(summed(net, values).equal(values * net.world_size())) << n;
    }
  });
}

TEST_P(CollectiveTest, ScaledSumsErrByAtMostOneRoundingPerWorker) {
  if (leaves_sums_to_nccl(GetParam())) return;
  run([](Collective& net) {
    const int workers = net.world_size();
    for (const std::int64_t n : value_counts) {
      const auto sines_of = [&](int rank) {
        return torch::sin(torch::arange(n, torch::kFloat32) * (rank + 1) + 0.1 * rank);
      };
      torch::Tensor exact = torch::zeros(n);
      for (int r = 0; r < workers; ++r) exact += sines_of(r);
      const torch::Tensor error = (summed(net, sines_of(net.rank())) - exact).abs();
      // Each worker's own numbers are rounded, then around a ring every partial sum, of magnitudes 1 to N; along a
      // tree fewer are.
      const double bound = (workers + workers * (workers + 1) / 2.0) / 254;
      if (n == 0) continue;
      EXPECT_LE(error.max().item<double>(), bound) << n;
      if (n > 255) {
        EXPECT_GT(error.max().item<double>(), 0) << n;
      }
    }
  });
}

TEST_P(CollectiveTest, ScaledSumsOfABlockThatIsNotFiniteAreNotANumber) {
  if (leaves_sums_to_nccl(GetParam())) return;
  run([](Collective& net) {
    torch::Tensor values = torch::ones(1000);
    if (net.rank() == net.world_size() - 1) values[300] = std::numeric_limits<float>::quiet_NaN();
    const torch::Tensor nan = torch::isnan(summed(net, values));
    EXPECT_EQ(nan.sum().item<int>(), 256);
    EXPECT_TRUE(nan.narrow(0, 256, 256).all().item<bool>());
  });
}

TEST_P(CollectiveTest, ScaledSumsNeedWholeBlocks) {
  run([](Collective& net) {
    EXPECT_THROW(net.all_reduce(torch::ones(261, torch::kUInt8), Reduction::scaled_sum), Error);
    EXPECT_THROW(net.all_reduce(torch::ones(260, torch::kFloat32), Reduction::scaled_sum), Error);
  });
}

TEST_P(CollectiveTest, NcclRefusesScaledSums) {
  if (!leaves_sums_to_nccl(GetParam())) return;
  run([](Collective& net) {
    EXPECT_THROW(net.all_reduce(torch::zeros(260, torch::kUInt8), Reduction::scaled_sum), Error);
  });
}

}  // namespace
}  // namespace thinpipe::trainer
