// Confidence intervals by the bootstrap (Efron 1979): no assumption about the distribution of the values. Pure.
#pragma once

#include <vector>

namespace thinpipe {

struct Interval {
  double low = 0;
  double high = 0;
};

// Returns the 2.5th and 97.5th percentile of the mean of samples drawn from the values, with replacement, as many as
// there are values. Exact, over all possible samples, for at most 8 values; from 10,000 samples that are the same in
// every call for at most 100; for more by the normal distribution, corrected for skewness. Needs two or more values.
Interval bootstrap_mean(const std::vector<double>& values);

}  // namespace thinpipe
