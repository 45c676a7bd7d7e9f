// The mean of measurements, and how far off it may be.
#pragma once

#include <cstdint>
#include <optional>

namespace thinpipe {

class SampleMean {
 public:
  void add(double value);

  std::int64_t count() const { return count_; }
  double mean() const { return mean_; }  // 0 of none

  // Of the mean's 95 % confidence interval, by Student's distribution; nothing below two values.
  std::optional<double> half_width() const;

 private:
  std::int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // of differences from the mean: Welford's algorithm
};

}  // namespace thinpipe
