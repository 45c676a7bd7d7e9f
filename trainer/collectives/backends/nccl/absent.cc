// SPDX-License-Identifier: Apache-2.0
// A build without NCCL.
#include "trainer/collectives/backends/nccl/nccl_group.hh"

namespace thinpipe::trainer {

std::unique_ptr<NcclGroup> open_nccl_group(const GroupOptions& /*membership*/, Collective& /*gloo*/,
                                           double /*timeout_s*/) {
  throw Error("connect by NCCL: thinpipe-trainer was built without it");
}

std::optional<std::string> nccl_version() {
  return std::nullopt;
}

}  // namespace thinpipe::trainer
