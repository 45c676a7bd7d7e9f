// SPDX-License-Identifier: Apache-2.0
// Confidence intervals by the bootstrap (Efron 1979): no assumption about the distribution of the values. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace thinpipe {

struct Interval {
  double low = 0;
  double high = 0;
};

// Returns the 2.5th and 97.5th percentile of the mean of samples drawn from the values, with replacement, as many as
// there are values. Exact, over all possible samples, for at most 6 values; for more by the saddlepoint approximation
// of that mean's distribution (Davison and Hinkley 1988), which takes microseconds and is nearer to the exact ends than
// 10,000 drawn samples. Needs two or more values.
Interval bootstrap_mean(const std::vector<double>& values);

// Returns in about how many percent of cases the interval of so few normally distributed values holds their
// true mean; nullopt for a single value, and for more than ten, of which it is nearer to 95.
std::optional<int> coverage_percent(std::size_t values);

}  // namespace thinpipe
