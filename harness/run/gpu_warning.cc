// SPDX-License-Identifier: Apache-2.0
#include "harness/run/gpu_warning.hh"

#include <fmt/format.h>

namespace thinpipe {

std::optional<std::string> warn_of_shared_gpus(const Json& config, std::int64_t gpus) {
  const bool computes_on_gpus =
      config.contains("compute") && config["compute"].value("device", "cpu") == "cuda";
  const bool exchanges_by_nccl =
      config.contains("collective") && config["collective"].value("name", "") == "nccl";
  const std::int64_t workers = config.value("workers", std::int64_t{1});
  if ((!computes_on_gpus && !exchanges_by_nccl) || workers <= gpus) return std::nullopt;
  return fmt::format(
      "{} workers share {} GPU{}: they wait for each other there, so compute{} take{} longer than with a GPU each",
      workers, gpus, gpus == 1 ? "" : "s", exchanges_by_nccl ? " and NCCL's exchange" : "",
      exchanges_by_nccl ? "" : "s");
}

}  // namespace thinpipe
