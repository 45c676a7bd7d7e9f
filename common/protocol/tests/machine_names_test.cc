// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/machine_names.hh"

#include <fstream>

#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

std::optional<std::string> cpu_named(const std::string& name, const std::string& more) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "cpuinfo";
  std::ofstream(file) << "cpu family\t: 23\nmodel\t\t: 1\nmodel name\t: " << name
                      << "\ncpu MHz\t\t: 1500.000\n"
                      << more;
  return cpu_name(file);
}

TEST(MachineNames, ACpuWithoutANumberGetsFamilyModelAndClock) {
  EXPECT_EQ(cpu_named("AMD EPYC", "bogomips\t: 3992.50\n"), "AMD EPYC, family 23, model 1, 2.00 GHz");
  EXPECT_EQ(cpu_named("AMD EPYC", "bogomips\t: ?\n"), "AMD EPYC, family 23, model 1");
  EXPECT_EQ(cpu_named("AMD EPYC", ""), "AMD EPYC, family 23, model 1");
  EXPECT_EQ(cpu_named("AMD EPYC 7763 64-Core Processor", "bogomips\t: 4890.80\n"),
            "AMD EPYC 7763 64-Core Processor");
}

TEST(MachineNames, ACpuThatTheKernelDoesNotNameHasNoName) {
  EXPECT_EQ(cpu_name("/nowhere"), std::nullopt);
}

TEST(MachineNames, TheFirstGpuHasTheNameThatTheDriverTells) {
  const TemporaryFolder driver;
  for (const auto& [address, model] :
       {std::pair{"0000:81:00.0", "NVIDIA B"}, {"0000:01:00.0", "NVIDIA A40"}}) {
    const auto folder = driver.path() / "gpus" / address;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "information") << "Model: \t\t " << model << "\nIRQ:   \t\t 16\n";
  }
  EXPECT_EQ(gpu_name(driver.path()), "NVIDIA A40");
}

TEST(MachineNames, WithoutADriverThereIsNoGpu) {
  const TemporaryFolder empty;
  EXPECT_EQ(gpu_name(empty.path()), std::nullopt);
}

}  // namespace
}  // namespace thinpipe
