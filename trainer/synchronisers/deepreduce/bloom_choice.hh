// SPDX-License-Identifier: Apache-2.0
// DeepReduce's policies P1 and P2: they choose as many of a Bloom filter's positives as the filter has
// members. Everyone with the filter and the stream makes the same choice, by integer arithmetic. There are at
// least `count` positives.
#pragma once

#include "trainer/base/philox.hh"
#include "trainer/synchronisers/deepreduce/bloom_filter.hh"

namespace thinpipe::trainer {

// P1: chooses `count` of the positives, every set of that size with the same probability. Ascending.
std::vector<std::uint32_t> choose_at_random(std::span<const std::uint32_t> positives, std::size_t count,
                                            const RandomStream& stream);

// P2: each set bit was set by a member. Goes through the sets of positives that share a bit and takes one
// random positive of each until it has `count`. The smallest set comes first; among equals, that of the
// lowest bit. If other sets took positives of a set since its last turn, that set loses them and is skipped
// once. So a set of one gives a member. Ascending.
std::vector<std::uint32_t> choose_by_conflicts(const BloomFilter& filter,
                                               std::span<const std::uint32_t> positives, std::size_t count,
                                               const RandomStream& stream);

}  // namespace thinpipe::trainer
