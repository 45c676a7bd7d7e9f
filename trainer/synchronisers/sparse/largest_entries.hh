// SPDX-License-Identifier: Apache-2.0
// The largest entries of a bucket, or of each of its tensors. k of n entries: kept_count(ratio, n).
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/base/bucket.hh"

namespace thinpipe::trainer {

enum class ChoiceScope { bucket, tensor };

// Returns the indices into the bucket, ascending.
std::vector<std::uint32_t> largest_entries(const Bucket& bucket, double ratio, ChoiceScope scope);

// Returns how many these are.
std::int64_t count_of_largest(const Bucket& bucket, double ratio, ChoiceScope scope);

}  // namespace thinpipe::trainer
