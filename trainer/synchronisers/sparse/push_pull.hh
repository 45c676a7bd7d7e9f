// The traffic of methods that give each entry an owner: every worker pushes to each owner what it has for it
// (exchange_any), the owner sums, and every worker pulls the sums (gather_any).
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/synchronisers/expected_traffic.hh"

namespace thinpipe::trainer {

struct PushPullBytes {
  std::vector<std::int64_t> pushed;  // to owner s, by every worker
  std::vector<std::int64_t> pulled;  // from owner s, by every worker
};

// Of the worker that sends most, sizes included: no worker sends more where no message is larger.
ExpectedTraffic push_pull_at_most(const PushPullBytes& bytes);

// The mean over workers, sizes included.
ExpectedTraffic push_pull_mean(const PushPullBytes& bytes);

}  // namespace thinpipe::trainer
