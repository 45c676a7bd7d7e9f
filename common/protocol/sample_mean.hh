// SPDX-License-Identifier: Apache-2.0
// The mean of measurements and its confidence interval.
#pragma once

#include <cstdint>
#include <optional>

namespace thinpipe {

class SampleMean {
 public:
  void add(double value);

  std::int64_t count() const { return count_; }
  double mean() const { return mean_; }  // 0 if there are no values

  // Returns half the width of the mean's 95 % confidence interval (Student's t); nullopt for fewer than two
  // values.
  std::optional<double> half_width() const;

 private:
  std::int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared differences from the mean (Welford's algorithm)
};

}  // namespace thinpipe
