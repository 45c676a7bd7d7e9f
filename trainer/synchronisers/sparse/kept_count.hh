// SPDX-License-Identifier: Apache-2.0
// The number of entries that a sparsifier keeps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace thinpipe::trainer {

// Returns k = max(1, floor(ratio·n)); 0 if n is 0.
inline std::int64_t kept_count(double ratio, std::int64_t n) {
  const auto kept = static_cast<std::int64_t>(std::floor(ratio * static_cast<double>(n)));
  return std::min(std::max<std::int64_t>(1, kept), n);
}

}  // namespace thinpipe::trainer
