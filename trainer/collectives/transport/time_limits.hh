// SPDX-License-Identifier: Apache-2.0
// Time-outs as system calls take them. Users may write any, such as "1000 h".
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace thinpipe::trainer {

// 31 years. In nanoseconds, much longer times overflow 64 bits.
inline constexpr double max_time_limit_s = 1e9;

// Returns poll(2)'s milliseconds, rounded up. Its longest wait, 24.8 days, stands for any longer one.
inline int poll_milliseconds(double seconds) {
  constexpr double longest = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp(std::ceil(seconds * 1000), 0.0, longest));
}

}  // namespace thinpipe::trainer
