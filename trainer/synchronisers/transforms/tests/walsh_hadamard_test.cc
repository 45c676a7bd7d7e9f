// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/transforms/walsh_hadamard.hh"

#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "trainer/base/philox.hh"

namespace thinpipe::trainer {
namespace {

std::vector<float> transform_input(std::size_t n) {
  std::vector<float> values(n);
  fill_uniform({.seed = 3}, values);
  for (float& value : values) value = 2 * value - 1;
  return values;
}

TEST(WalshHadamard, OfFourIsAsByHand) {
  std::vector<float> values = {1, 2, 3, 5};
  walsh_hadamard(values);
  // 11/2, (1 - 2 + 3 - 5)/2, (1 + 2 - 3 - 5)/2, (1 - 2 - 3 + 5)/2
  EXPECT_EQ(values, (std::vector<float>{5.5F, -1.5F, -2.5F, 0.5F}));
}

TEST(WalshHadamard, IsTheProductWithItsMatrix) {
  for (const std::size_t n : {1U, 2U, 4U, 8U, 16U, 64U, 512U}) {
    const std::vector<float> in = transform_input(n);
    std::vector<float> out = in;
    walsh_hadamard(out);
    for (std::size_t i = 0; i < n; ++i) {
      double product = 0;
      for (std::size_t j = 0; j < n; ++j) product += std::popcount(i & j) % 2 == 0 ? in[j] : -in[j];
      EXPECT_NEAR(out[i], product / std::sqrt(static_cast<double>(n)), 1e-5) << n;
    }
  }
}

}  // namespace
}  // namespace thinpipe::trainer
