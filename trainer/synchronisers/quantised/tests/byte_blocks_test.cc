// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/byte_blocks.hh"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

torch::Tensor decoded(const ByteBlocks& code, const torch::Tensor& values) {
  torch::Tensor out = torch::zeros_like(values);
  code.add(code.encode(floats(values)), floats(out));
  return out;
}

TEST(ByteBlocks, ErrByAtMostHalfALevelOfTheirBlock) {
  torch::manual_seed(1);
  const torch::Tensor values = torch::randn({1000}).mul(torch::arange(1000).add(1));
  const torch::Tensor error = (decoded(ByteBlocks(100), values) - values).abs().view({10, 100});
  const torch::Tensor largest = values.abs().view({10, 100}).amax(1, true);
  EXPECT_TRUE(error.le(largest / 254 * (1 + 1e-5)).all().item<bool>());
  EXPECT_GT(error.max().item<float>(), 0);
}

TEST(ByteBlocks, LevelsAreExact) {
  torch::Tensor levels = torch::arange(-127, 128).to(torch::kFloat);
  EXPECT_TRUE(decoded(ByteBlocks(255), levels).equal(levels));
  EXPECT_TRUE(decoded(ByteBlocks(2), torch::zeros({5})).equal(torch::zeros({5})));
}

TEST(ByteBlocks, AMessageHasAByteForEachEntryAndAScaleForEachBlock) {
  EXPECT_EQ(ByteBlocks(4).bytes(9), 9 + 3 * 4);
  EXPECT_EQ(ByteBlocks(std::numeric_limits<std::int64_t>::max()).bytes(9), 9 + 4);
  const torch::Tensor values = torch::ones({9});
  EXPECT_EQ(ByteBlocks(4).encode(floats(values)).numel(), 21);
  EXPECT_EQ(ByteBlocks(4).bytes(0), 0);
}

TEST(ByteBlocks, AnEntryThatIsNotFiniteMakesItsBlockNan) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    torch::Tensor values = torch::ones({6});
    values[1] = bad;
    const torch::Tensor out = decoded(ByteBlocks(3), values);
    EXPECT_TRUE(out.narrow(0, 0, 3).isnan().all().item<bool>());
    EXPECT_TRUE(out.narrow(0, 3, 3).equal(torch::ones({3})));
  }
}

}  // namespace
}  // namespace thinpipe::trainer
