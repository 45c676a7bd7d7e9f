// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/roofline_clock.hh"

#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

// Only arithmetic takes time.
const Device arithmetic_only = {
    .peak_flop_per_s = 2e9, .flop_efficiency = 0.5, .memory_byte_per_s = 1e30, .memory_efficiency = 1};
// Only memory takes time.
const Device memory_only = {
    .peak_flop_per_s = 1e30, .flop_efficiency = 1, .memory_byte_per_s = 1e6, .memory_efficiency = 0.5};

template <class Action>
double time_of(const Device& device, const Action& action) {
  const RooflineClock clock(device);
  action();
  return clock.elapsed_s();
}

TEST(RooflineClock, AProductTakesTwoOperationsForEachTriple) {
  const torch::Tensor a = torch::ones({3, 4});
  const torch::Tensor b = torch::ones({4, 5});
  EXPECT_NEAR(time_of(arithmetic_only, [&] { a.mm(b); }), 2 * 3 * 4 * 5 / 1e9, 1e-15);
  EXPECT_NEAR(time_of(arithmetic_only,
                      [&] {
                        a.expand({2, 3, 4}).matmul(b.expand({2, 4, 5}));
                      }),
              2 * 2 * 3 * 4 * 5 / 1e9, 1e-15);
  EXPECT_NEAR(time_of(arithmetic_only, [&] { torch::linear(a, b.t(), torch::ones({5})); }),
              2 * 3 * 4 * 5 / 1e9, 1e-15);
}

TEST(RooflineClock, AConvolutionTakesItsWindowForEachOutput) {
  const torch::Tensor images = torch::ones({2, 3, 8, 8});
  const torch::Tensor weight = torch::ones({5, 3, 3, 3}, torch::requires_grad());
  const double forward_s = 2.0 * (2 * 5 * 6 * 6) * (3 * 3 * 3) / 1e9;
  EXPECT_NEAR(time_of(arithmetic_only, [&] { torch::conv2d(images, weight); }), forward_s, 1e-15);
  EXPECT_NEAR(time_of(arithmetic_only, [&] { torch::conv2d(images, weight).sum().backward(); }),
              2 * forward_s, 1e-15)
      << "the images need no gradient";
}

TEST(RooflineClock, EverythingElseIsAPassOverItsOperands) {
  torch::Tensor x = torch::ones({1000});
  EXPECT_NEAR(time_of(memory_only, [&] { x.exp(); }), 8000 / 0.5e6, 1e-12);
  EXPECT_NEAR(time_of(memory_only, [&] { x.relu_(); }), 8000 / 0.5e6, 1e-12);
  EXPECT_EQ(time_of(memory_only, [&] { x.view({10, 100}).t().detach(); }), 0) << "views are free";
}

TEST(RooflineClock, NoKernelIsShorterThanItsStart) {
  Device device = arithmetic_only;
  device.kernel_s = 0.25;
  const torch::Tensor x = torch::ones({4});
  EXPECT_EQ(time_of(device, [&] { x.exp().neg(); }), 0.5);
}

TEST(RooflineClock, CountsOnlyWhileItLives) {
  const torch::Tensor a = torch::ones({3, 3});
  const RooflineClock later(arithmetic_only);
  EXPECT_EQ(later.elapsed_s(), 0);
  a.mm(a);
  EXPECT_EQ(later.flops(), 54);
}

}  // namespace
}  // namespace thinpipe::trainer
