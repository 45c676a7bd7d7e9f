// SPDX-License-Identifier: Apache-2.0
// Sums of many float32 values in float64.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace thinpipe::trainer {

// Returns the sum of term(value), which converts to double. Adds in several lanes, so that additions do not
// wait for each other, and always in the same order.
double sum_of(std::span<const float> values, const auto& term) {
  std::array<double, 8> lanes{};
  for (; values.size() >= lanes.size(); values = values.subspan(lanes.size())) {
    for (std::size_t l = 0; l < lanes.size(); ++l) lanes[l] += term(values[l]);
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (const float value : values) sum += term(value);
  return sum;
}

}  // namespace thinpipe::trainer
