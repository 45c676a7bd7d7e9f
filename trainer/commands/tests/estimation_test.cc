// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/estimation.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/training/tests/training.hh"

namespace thinpipe::trainer {
namespace {

using testing::configured;

const Device one_gflop = {.name = "a device",
                          .peak_flop_per_s = 1e9,
                          .flop_efficiency = 1,
                          .memory_byte_per_s = 1e30,
                          .memory_efficiency = 1};

// 64 inputs, 16 hidden units, 10 classes, 12 examples.
TrainingConfig small_mlp() {
  TrainingConfig config = configured(2);
  config.model = {{"name", "mlp"}, {"hidden", {16}}};
  return config;
}

TEST(Estimation, CountsForwardAndBackward) {
  const ComputeProfile profile = estimate_profile(small_mlp(), one_gflop, 12);
  const double first = 2 * 12 * 64 * 16;
  const double last = 2 * 12 * 16 * 10;
  // The gradient of the inputs is not computed.
  EXPECT_NEAR(profile.elapsed.compute_s, (2 * first + 3 * last) / 1e9, 1e-12);
  EXPECT_EQ(profile.device.at("flops"), 2 * first + 3 * last);
  ASSERT_EQ(profile.elapsed.ready_s.size(), 4U);
  EXPECT_NEAR(profile.elapsed.ready_s[3], (first + 3 * last) / 1e9, 1e-12)
      << "a layer's gradients come together";
  EXPECT_NEAR(profile.elapsed.ready_s[0], profile.elapsed.compute_s, 1e-12)
      << "the first layer's weight is last";
}

TEST(Estimation, GradientsThatAreClippedFirstAreReadyAfterBackward) {
  TrainingConfig config = small_mlp();
  config.synchroniser = {{"name", "topk"}, {"ratio", 0.1}};
  const ComputeTimes at_once = estimate_profile(config, one_gflop, 12).elapsed;
  EXPECT_LT(at_once.ready_s[3], at_once.compute_s);
  config.training.clip_norm = 1;
  const ComputeTimes clipped = estimate_profile(config, one_gflop, 12).elapsed;
  EXPECT_EQ(clipped.ready_s, std::vector<double>(4, clipped.compute_s));
  config.synchroniser = {{"name", "dense"}};
  EXPECT_EQ(estimate_profile(config, one_gflop, 12).elapsed.ready_s, at_once.ready_s)
      << "the mean is clipped, after the exchange";
}

TEST(Estimation, ABatchLargerThanTheDataIsComputedAllTheSame) {
  TrainingConfig config = small_mlp();
  config.dataset["train_examples"] = 24;
  EXPECT_NEAR(estimate_profile(config, one_gflop, 120).elapsed.compute_s,
              10 * estimate_profile(config, one_gflop, 12).elapsed.compute_s, 1e-12);
}

TEST(Estimation, SaysThatItIsOne) {
  const ComputeProfile profile = estimate_profile(small_mlp(), one_gflop, 12);
  EXPECT_EQ(profile.origin, "estimated");
  EXPECT_EQ(profile.device.at("name"), "a device");
  EXPECT_FALSE(profile.cpu);
}

TEST(Estimation, CodesAndOptimiserTakePassesOverMemory) {
  Device slow = one_gflop;
  slow.memory_byte_per_s = 1e6;
  const ComputeTimes times = estimate_profile(small_mlp(), slow, 12).elapsed;
  const double gradient_bytes = 4 * (64 * 16 + 16 + 16 * 10 + 10);
  EXPECT_DOUBLE_EQ(times.encode_s, 4 * gradient_bytes / 1e6);
  EXPECT_DOUBLE_EQ(times.decode_s, times.encode_s);
  EXPECT_GE(times.finish_s, 3 * gradient_bytes / 1e6) << "reads gradient and weight, writes the weight";
}

TEST(Estimation, StartsOperationsOfTheOptimiserInATimeOfTheirOwn) {
  Device device = one_gflop;
  device.kernel_s = 1;
  const ComputeTimes alike = estimate_profile(small_mlp(), device, 12).elapsed;
  device.update_kernel_s = 0.25;
  const ComputeTimes different = estimate_profile(small_mlp(), device, 12).elapsed;
  EXPECT_EQ(different.compute_s, alike.compute_s);
  EXPECT_GE(alike.finish_s, 4) << "an operation for each of four parameters";
  EXPECT_DOUBLE_EQ(different.finish_s, alike.finish_s / 4);
}

}  // namespace
}  // namespace thinpipe::trainer
