// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/loss.hh"

#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

// Softmax of (ln 2, 0, 0) is (1/2, 1/4, 1/4).
const torch::Tensor logits = torch::tensor({std::log(2.0F), 0.0F, 0.0F}).view({1, 3});

TEST(CrossEntropy, IsTheNegativeLogarithmOfTheLabelsShare) {
  EXPECT_NEAR(cross_entropy(logits, torch::tensor({0}, torch::kLong)).item<double>(), std::log(2.0), 1e-6);
  EXPECT_NEAR(cross_entropy(logits, torch::tensor({2}, torch::kLong)).item<double>(), std::log(4.0), 1e-6);
}

TEST(CrossEntropy, SmoothingSharesTheTargetOut) {
  // (1 - 0.3) ln 2 + 0.3 / 3 (ln 2 + ln 4 + ln 4).
  const double expected = 0.7 * std::log(2.0) + 0.1 * (std::log(2.0) + 2 * std::log(4.0));
  EXPECT_NEAR(cross_entropy(logits, torch::tensor({0}, torch::kLong), 0.3).item<double>(), expected, 1e-6);
}

TEST(CrossEntropy, OfATextIsTheMeanOverItsTokens) {
  const torch::Tensor text = logits.expand({2, 5, 3});  // two sequences of five
  const torch::Tensor labels = torch::tensor({0, 0, 0, 0, 0, 2, 2, 2, 2, 2}, torch::kLong).view({2, 5});
  EXPECT_NEAR(cross_entropy(text, labels).item<double>(), 1.5 * std::log(2.0), 1e-6);
  EXPECT_NEAR(summed_cross_entropy(text, labels).item<double>(), 15 * std::log(2.0), 1e-5);
}

}  // namespace
}  // namespace thinpipe::trainer
