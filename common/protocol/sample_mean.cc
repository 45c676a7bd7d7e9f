// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/sample_mean.hh"

#include <cmath>

#include <boost/math/distributions/students_t.hpp>

namespace thinpipe {

void SampleMean::add(double value) {
  ++count_;
  const double difference = value - mean_;
  mean_ += difference / static_cast<double>(count_);
  squares_ += difference * (value - mean_);
}

std::optional<double> SampleMean::half_width() const {
  if (count_ < 2) return std::nullopt;
  const auto n = static_cast<double>(count_);
  constexpr double confidence = 0.95;
  const double t = boost::math::quantile(boost::math::students_t(n - 1), (1 + confidence) / 2);
  return t * std::sqrt(squares_ / (n - 1) / n);
}

}  // namespace thinpipe
