// Which of the keys that a Bloom filter may hold are taken, when only as many are wanted as it was made of:
// DeepReduce's policies P1 and P2. Whoever has the filter and the stream makes the same choice, by integers
// alone. There are at least `count` positives.
#pragma once

#include "trainer/philox.hh"
#include "trainer/synchronisers/sparse/bloom_filter.hh"

namespace thinpipe::trainer {

// P1: `count` of the positives, each set of so many as likely as any other. Ascending.
std::vector<std::uint32_t> choose_at_random(std::span<const std::uint32_t> positives, std::size_t count,
                                            const RandomStream& stream);

// P2: each set bit was set by a member. The sets of positives that share a bit are gone through, the smallest
// first (of equals, that of the lowest bit), until `count` are taken: one of each, at random. A set that
// others were taken from since its last turn is accounted for; it loses them and is passed over this once. So
// a set of one gives a member. Ascending.
std::vector<std::uint32_t> choose_by_conflicts(const BloomFilter& filter,
                                               std::span<const std::uint32_t> positives, std::size_t count,
                                               const RandomStream& stream);

}  // namespace thinpipe::trainer
