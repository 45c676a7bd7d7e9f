// SPDX-License-Identifier: Apache-2.0
// What a step's exchange took, for methods that adapt to the network.
#pragma once

#include "trainer/collectives/collective.hh"
#include "trainer/synchronisers/expected_traffic.hh"

namespace thinpipe::trainer {

struct Observation {
  double sent_bytes = 0;  // by a worker
  double exchange_s = 0;  // inside collectives
  double compute_s = 0;   // from the beginning of the step to the last gradient
};

// Returns the same observation on every worker. own: this worker's.
//   sent_bytes: the mean over workers.
//   exchange_s: the minimum, because the worker that was last to reach the collectives waited for the network only.
//   compute_s: the maximum, which is what the step took.
// Collective.
Observation agree_on(const Observation& own, Collective& network);

// The traffic of agree_on().
inline ExpectedTraffic observation_traffic(int world_size) {
  return all_gather_traffic(std::int64_t{3} * 8, world_size);
}

}  // namespace thinpipe::trainer
