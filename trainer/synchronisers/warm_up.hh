// SPDX-License-Identifier: Apache-2.0
// The warm-up of methods that keep few entries: they start with a larger kept fraction. Lin et al., Deep
// Gradient Compression (ICLR 2018).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/support/options.hh"

namespace thinpipe::trainer {

class WarmUp {
 public:
  // Keeps 1/4, 1/16 and so on, while these are above `ratio`, for equal shares of the first `steps` steps;
  // then `ratio`.
  WarmUp(double ratio, std::int64_t steps) : ratio_(ratio), steps_(static_cast<std::uint64_t>(steps)) {
    for (double stage = stage_factor; stage > ratio; stage *= stage_factor) stages_.push_back(stage);
  }

  static Rule rule() {
    return {.effect = "steps over which the kept fraction falls to the ratio: 1/4, 1/16 and so on",
            .at_least = 0};
  }

  // Returns the kept fraction, which never increases. The first step is 1.
  double ratio(std::uint64_t step) const {
    if (stages_.empty() || step > steps_ || steps_ == 0) return ratio_;
    const std::uint64_t steps_before = std::max<std::uint64_t>(step, 1) - 1;
    return stages_[static_cast<std::size_t>(steps_before * stages_.size() / steps_)];
  }

  double steady_state_ratio() const { return ratio_; }
  bool changes_the_ratio() const { return steps_ > 0 && !stages_.empty(); }

 private:
  static constexpr double stage_factor = 0.25;

  double ratio_;
  std::uint64_t steps_;
  std::vector<double> stages_;  // kept fractions
};

}  // namespace thinpipe::trainer
