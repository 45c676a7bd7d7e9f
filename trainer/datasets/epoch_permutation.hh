// SPDX-License-Identifier: Apache-2.0
// The order of the training examples in an epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/base/philox.hh"

namespace thinpipe::trainer {

// Returns a permutation of 0..examples-1 that depends on (seed, epoch, rank) alone: Fisher-Yates on words of
// Philox4x32-10, bounded without bias by Lemire's method. Every machine computes the same permutation; with
// the standard library's shuffle it would differ.
// rank: that of a worker which has its own examples; otherwise all workers share the permutation.
std::vector<std::int64_t> epoch_permutation(std::int64_t examples, std::uint64_t seed, std::int64_t epoch,
                                            std::uint32_t rank = shared_rank);

}  // namespace thinpipe::trainer
