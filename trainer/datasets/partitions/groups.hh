// SPDX-License-Identifier: Apache-2.0
// Groups of examples, such as those of a class, and the parts that partitions make of them.
#pragma once

#include <cstdint>
#include <vector>

#include "common/support/exception.hh"
#include "trainer/base/philox.hh"
#include "trainer/datasets/partitions/partition.hh"

namespace thinpipe::trainer {

using Group = std::vector<std::int64_t>;  // indices of examples

constexpr auto partition_purpose = static_cast<std::uint32_t>(Purpose::partition);

// Redraws before a partition gives up because a worker has no example.
constexpr std::uint32_t max_draws = 1000;

// Returns the indices of equal keys, ascending, in the order of the keys.
std::vector<Group> group_by(const std::vector<std::int64_t>& keys);

// Returns the examples of each class. Throws InputError at the partition's place if examples have no class.
std::vector<Group> group_by_class(const std::vector<std::int64_t>& classes, const Place& partition);

// Returns whether every part has an example.
bool all_have_examples(const Parts& parts);

// Sorts the indices in each part.
Parts sorted(Parts parts);

}  // namespace thinpipe::trainer
