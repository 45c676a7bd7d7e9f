#include "common/protocol/machine_names.hh"

#include <fstream>

#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

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
