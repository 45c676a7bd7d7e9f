// SPDX-License-Identifier: Apache-2.0
// The order in which all pairs of workers do something together. Pure.
#pragma once

#include <utility>
#include <vector>

namespace thinpipe::trainer {

// Groups of pairs, the lower rank first. Each pair is in one group, and no worker is twice in a group.
using PairOrder = std::vector<std::vector<std::pair<int, int>>>;

// Returns groups of one pair, or of as many pairs as possible.
PairOrder order_of_pairs(int workers, bool one_at_a_time);

}  // namespace thinpipe::trainer
