// SPDX-License-Identifier: Apache-2.0
// The traffic of methods in which each entry has an owner. Every worker pushes its entries to their owners
// (exchange_any), owners sum, and every worker pulls the sums (gather_any).
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/synchronisers/expected_traffic.hh"

namespace thinpipe::trainer {

struct PushPullBytes {
  std::vector<std::int64_t> pushed;  // to owner s, by every worker
  std::vector<std::int64_t> pulled;  // from owner s, by every worker
};

// Returns the traffic of the worker that sends the most, sizes included; an upper bound if no message is
// larger.
ExpectedTraffic push_pull_at_most(const PushPullBytes& bytes);

// Returns the mean over workers, sizes included.
ExpectedTraffic push_pull_mean(const PushPullBytes& bytes);

}  // namespace thinpipe::trainer
