// SPDX-License-Identifier: Apache-2.0
// Properties of whole arrays, which may be larger than memory: they are read stretch by stretch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Calls `visit` with consecutive stretches of rows, each at most a few MiB or one row, and the first row's
// index.
void for_each_stretch(const torch::Tensor& array,
                      const std::function<void(const torch::Tensor& rows, std::int64_t begin)>& visit);

// Throws Error naming the array and the first example that has a number which is not finite.
void check_finite(const torch::Tensor& array, const std::string& name);

struct Range {
  std::int64_t least = 0;
  std::int64_t largest = 0;
};

// Returns the range of an array of integers with at least one element.
Range range_of(const torch::Tensor& integers);

// Returns the first row that has a value below `least` or above `largest`.
std::int64_t row_outside(const torch::Tensor& integers, const Range& range);

// Mean and standard deviation of each channel, of values divided by `unit`.
struct Moments {
  std::vector<double> mean;
  std::vector<double> standard_deviation;  // 1 for a constant channel
};

// images: numbers [n, channels, height, width].
Moments channel_moments(const torch::Tensor& images, double unit);

}  // namespace thinpipe::trainer
