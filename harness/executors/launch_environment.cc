// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/launch_environment.hh"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Returns true for nvidia0, nvidia1 and so on, but not for nvidiactl or nvidia-uvm.
bool names_a_gpu(const std::string& file) {
  constexpr std::string_view prefix = "nvidia";
  return file.size() > prefix.size() && file.starts_with(prefix) &&
         file.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> launch_environment(const LaunchPlace& place) {
  const std::string rank = fmt::to_string(place.rank);
  const std::string world_size = fmt::to_string(place.world_size);
  std::vector<std::pair<std::string, std::string>> out = {
      {"RANK", rank},
      {"WORLD_SIZE", world_size},
      {"LOCAL_RANK", "0"},
      {"LOCAL_WORLD_SIZE", "1"},
      {"GROUP_RANK", rank},
      {"GROUP_WORLD_SIZE", world_size},
      {"ROLE_NAME", "default"},
      {"ROLE_RANK", rank},
      {"ROLE_WORLD_SIZE", world_size},
      {"MASTER_ADDR", place.master_address},
      {"MASTER_PORT", fmt::to_string(place.master_port)},
      {"TORCHELASTIC_RUN_ID", "thinpipe"},
      {"TORCHELASTIC_RESTART_COUNT", "0"},
      {"TORCHELASTIC_MAX_RESTARTS", "0"},
      // Otherwise rank 0 would expect that torchrun serves the store of init_process_group.
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
      // Python would keep the output of a process without a terminal until there are 8 KiB of it.
      {"PYTHONUNBUFFERED", "1"},
      {"GLOO_SOCKET_IFNAME", place.interface},
      {"TP_SOCKET_IFNAME", place.interface},
      {"NCCL_SOCKET_IFNAME", place.interface},
      {"NCCL_NET", "Socket"},
      {"NCCL_P2P_DISABLE", "1"},
      {"NCCL_SHM_DISABLE", "1"},
      {"NCCL_IB_DISABLE", "1"},
      {"NCCL_MNNVL_ENABLE", "0"},
      // NCCL refuses two ranks on one GPU of the same machine.
      {"NCCL_HOSTID", "thinpipe-" + rank}};
  if (place.world_size > 1 && !place.user_limits_threads) out.emplace_back("OMP_NUM_THREADS", "1");
  if (!place.gpus.empty()) {
    out.emplace_back("CUDA_VISIBLE_DEVICES",
                     place.gpus[static_cast<std::size_t>(place.rank) % place.gpus.size()]);
  }
  return out;
}

std::vector<std::string> visible_gpus(const std::optional<std::string>& cuda_visible_devices,
                                      const fs::path& devices) {
  if (cuda_visible_devices) return split_at_commas(*cuda_visible_devices);
  std::vector<std::string> gpus;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(devices, unreadable)) {
    // CUDA counts from 0 whatever the files' numbers are: a container may have got only some of them.
    if (names_a_gpu(entry.path().filename())) gpus.push_back(fmt::to_string(gpus.size()));
  }
  return gpus;
}

std::vector<std::string> visible_gpus() {
  const char* const variable = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible_gpus(variable == nullptr ? std::nullopt : std::optional<std::string>(variable));
}

}  // namespace thinpipe
