// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/launch_environment.hh"

#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;

const LaunchPlace third_of_four = {
    .rank = 2, .world_size = 4, .master_address = "10.77.0.1", .interface = "eth0"};

std::map<std::string, std::string> variables(const LaunchPlace& place) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : launch_environment(place)) {
    EXPECT_TRUE(out.emplace(name, value).second) << name << " occurs twice";
  }
  return out;
}

TEST(LaunchEnvironment, IsTorchrunsWithAMachineForEachRank) {
  EXPECT_THAT(variables(third_of_four),
              AllOf(Contains(Pair("RANK", "2")), Contains(Pair("WORLD_SIZE", "4")),
                    Contains(Pair("LOCAL_RANK", "0")), Contains(Pair("LOCAL_WORLD_SIZE", "1")),
                    Contains(Pair("GROUP_RANK", "2")), Contains(Pair("GROUP_WORLD_SIZE", "4")),
                    Contains(Pair("ROLE_RANK", "2")), Contains(Pair("ROLE_WORLD_SIZE", "4")),
                    Contains(Pair("MASTER_ADDR", "10.77.0.1")), Contains(Pair("MASTER_PORT", "29500"))));
}

TEST(LaunchEnvironment, KeepsAllTrafficOnTheHostsInterface) {
  EXPECT_THAT(
      variables(third_of_four),
      AllOf(Contains(Pair("GLOO_SOCKET_IFNAME", "eth0")), Contains(Pair("NCCL_SOCKET_IFNAME", "eth0")),
            Contains(Pair("TP_SOCKET_IFNAME", "eth0")), Contains(Pair("NCCL_P2P_DISABLE", "1")),
            Contains(Pair("NCCL_SHM_DISABLE", "1")), Contains(Pair("NCCL_IB_DISABLE", "1"))));
}

TEST(LaunchEnvironment, LimitsThreadsLikeTorchrun) {
  LaunchPlace place = third_of_four;
  EXPECT_THAT(variables(place), Contains(Pair("OMP_NUM_THREADS", "1")));
  place.user_limits_threads = true;
  EXPECT_THAT(variables(place), Not(Contains(Key("OMP_NUM_THREADS"))));
  EXPECT_THAT(variables({.world_size = 1}), Not(Contains(Key("OMP_NUM_THREADS"))));
}

TEST(LaunchEnvironment, RanksTakeTurnsWithTheGpus) {
  LaunchPlace place = third_of_four;
  EXPECT_THAT(variables(place), Not(Contains(Key("CUDA_VISIBLE_DEVICES"))));
  place.gpus = {"0", "1", "GPU-8932f937"};
  EXPECT_THAT(variables(place), Contains(Pair("CUDA_VISIBLE_DEVICES", "GPU-8932f937")));
  place.rank = 3;
  EXPECT_THAT(variables(place), Contains(Pair("CUDA_VISIBLE_DEVICES", "0")));
}

TEST(VisibleGpus, AreThoseOfTheVariableIfItIsSet) {
  const TemporaryFolder devices;
  std::ofstream(devices.path() / "nvidia0");
  EXPECT_THAT(visible_gpus("3,1", devices.path()), ElementsAre("3", "1"));
  EXPECT_THAT(visible_gpus("MIG-1", devices.path()), ElementsAre("MIG-1"));
  EXPECT_THAT(visible_gpus("", devices.path()), IsEmpty());
}

TEST(VisibleGpus, AreCountedByTheirDeviceFilesOtherwise) {
  const TemporaryFolder devices;
  EXPECT_THAT(visible_gpus(std::nullopt, devices.path()), IsEmpty());
  for (const char* const name : {"nvidia0", "nvidia7", "nvidiactl", "nvidia-uvm", "nvidia", "null"}) {
    std::ofstream(devices.path() / name);
  }
  EXPECT_THAT(visible_gpus(std::nullopt, devices.path()), ElementsAre("0", "1"));
  EXPECT_THAT(visible_gpus(std::nullopt, devices.path() / "none"), IsEmpty());
}

}  // namespace
}  // namespace thinpipe
