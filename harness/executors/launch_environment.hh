// SPDX-License-Identifier: Apache-2.0
// The environment of a command that is written for torchrun, on a host of its own. Depends on neither networks
// nor the command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thinpipe {

// torchrun's own default. Every host has its ports to itself, so it is always free.
inline constexpr int default_master_port = 29500;

struct LaunchPlace {
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  std::string master_address = {};  // of rank 0's host
  int master_port = default_master_port;
  std::string interface = {};          // the host's network interface, such as "eth0"
  std::vector<std::string> gpus = {};  // of the machine, as visible_gpus() returns them; shared by all ranks
  bool user_limits_threads = false;    // OMP_NUM_THREADS is set and stays
};

// Returns the variables that the command needs in addition to this process's own:
//
// - those of torchrun, for a machine per rank: LOCAL_RANK is 0 and LOCAL_WORLD_SIZE is 1;
// - OMP_NUM_THREADS=1 if several ranks share this machine, as torchrun sets it, unless user_limits_threads;
// - PYTHONUNBUFFERED, so that Python's output arrives when it is printed;
// - the interface for Gloo, NCCL and TensorPipe;
// - NCCL's transports that bypass the network, disabled;
// - CUDA_VISIBLE_DEVICES with one GPU: number `rank` modulo the number of GPUs. Not set if there are none.
std::vector<std::pair<std::string, std::string>> launch_environment(const LaunchPlace& place);

// Returns the machine's GPUs by the names that CUDA_VISIBLE_DEVICES gives them: the entries of that variable if
// it is set, otherwise a number for each file nvidia0, nvidia1 and so on in `devices`.
std::vector<std::string> visible_gpus(const std::optional<std::string>& cuda_visible_devices,
                                      const std::filesystem::path& devices = "/dev");

// The same with this process's variable.
std::vector<std::string> visible_gpus();

}  // namespace thinpipe
