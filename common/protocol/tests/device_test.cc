// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/device.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

Device a_device() {
  return {.name = "a device",
          .source = "its data sheet",
          .peak_flop_per_s = 1e12,
          .flop_efficiency = 0.5,
          .memory_byte_per_s = 1e9,
          .memory_efficiency = 0.1,
          .kernel_s = 1e-3};
}

TEST(Device, AKernelTakesAsLongAsItsSlowestPart) {
  EXPECT_DOUBLE_EQ(a_device().time_of_kernel_s(1e12, 1), 2);
  EXPECT_DOUBLE_EQ(a_device().time_of_kernel_s(1, 1e9), 10);
  EXPECT_DOUBLE_EQ(a_device().time_of_kernel_s(1, 1), 1e-3);
}

TEST(Device, ReadsBackAsItWasWritten) {
  const Json written = to_json(a_device());
  EXPECT_TRUE(is_device(written));
  EXPECT_EQ(to_json(parse_device(written, {"device.json", ""})), written);
}

TEST(Device, WithoutAPeakOrWithAnImpossibleEfficiencyIsRefused) {
  Json nonsense = to_json(a_device());
  nonsense["flop_efficiency"] = 1.5;
  EXPECT_THROW(parse_device(nonsense, {"device.json", ""}), InputError);
  Json incomplete = to_json(a_device());
  incomplete.erase("kernel_s");
  EXPECT_THROW(parse_device(incomplete, {"device.json", ""}), InputError);
  incomplete.erase("peak_flop_per_s");
  EXPECT_FALSE(is_device(incomplete));
}

}  // namespace
}  // namespace thinpipe
