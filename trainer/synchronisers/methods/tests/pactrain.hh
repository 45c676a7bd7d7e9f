// SPDX-License-Identifier: Apache-2.0
// Shared by PacTrain's tests.
#pragma once

#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer::testing {

inline Json pactrain(Json options = Json::object()) {
  options["name"] = "pactrain";
  return options;
}

// The counters as state() reports them.
inline Json counters(std::int64_t full, std::int64_t packed, std::int64_t escapes) {
  return {{"full_steps", full}, {"packed_steps", packed}, {"escapes", escapes}};
}

inline torch::Tensor mean_over(Collective& network, const torch::Tensor& gradient) {
  torch::Tensor mean = gradient.div(network.world_size());
  network.all_reduce(mean, Reduction::sum);
  return mean;
}

}  // namespace thinpipe::trainer::testing
