// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/bootstrap.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace thinpipe {
namespace {

constexpr double tail = 0.025;
constexpr double normal_quantile = 1.959963984540054;  // of 1 - tail
constexpr std::size_t most_for_exact = 6;

// A mean, and the probability of the samples that have it.
using WeightedMean = std::pair<double, double>;

// Every sample is a choice of how often each value was drawn; `probability` is that of the choices so far, with
// binomial factors, so that each full choice gets its multinomial probability.
void append_samples(const std::vector<double>& values, std::size_t index, std::size_t left, double sum,
                    double probability, std::vector<WeightedMean>& out) {
  const auto n = static_cast<double>(values.size());
  if (index + 1 == values.size()) {
    const double rest = std::pow(1 / n, static_cast<double>(left));
    out.emplace_back((sum + static_cast<double>(left) * values[index]) / n, probability * rest);
    return;
  }
  double choose = 1;  // left over `times`
  for (std::size_t times = 0; times <= left; ++times) {
    const double one = std::pow(1 / n, static_cast<double>(times));
    append_samples(values, index + 1, left - times, sum + static_cast<double>(times) * values[index],
                   probability * choose * one, out);
    choose *= static_cast<double>(left - times) / static_cast<double>(times + 1);
  }
}

std::vector<WeightedMean> all_samples(const std::vector<double>& values) {
  std::vector<WeightedMean> out;
  append_samples(values, 0, values.size(), 0, 1, out);
  return out;
}

// Returns the smallest mean that is not below the quantile.
double quantile(const std::vector<WeightedMean>& sorted, double share) {
  constexpr double rounding = 1e-9;
  double probability = 0;
  for (const auto& [mean, weight] : sorted) {
    probability += weight;
    if (probability >= share - rounding) return mean;
  }
  return sorted.back().first;
}

// A mean, and the standard normal variable that is exceeded as probably as a sample's mean exceeds it.
struct Tilted {
  double mean;
  double normal;
};

// Tilts the distribution of one draw: each value's probability becomes proportional to exp(tilt * value). Returns its
// mean and, by Barndorff-Nielsen's form of the approximation, how probably a sample's mean exceeds that. `values` have
// mean 0; tilt > 0.
Tilted tilted(const std::vector<double>& values, double tilt) {
  const auto n = static_cast<double>(values.size());
  const double largest = tilt * *std::ranges::max_element(values);
  double weights = 0;
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    const double weight = std::exp(tilt * value - largest);  // cannot overflow
    weights += weight;
    sum += weight * value;
    squares += weight * value * value;
  }
  const double mean = sum / weights;
  const double variance = squares / weights - mean * mean;
  const double cumulant = std::log(weights / n) + largest;
  const double root = std::sqrt(std::max(0.0, 2 * n * (tilt * mean - cumulant)));
  const double wald = tilt * std::sqrt(n * std::max(0.0, variance));
  return {.mean = mean, .normal = root + std::log(wald / root) / root};
}

// Returns the mean that a sample's exceeds with probability `tail`. `values` have mean 0 and standard deviation 1.
double upper_end(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double highest = *std::ranges::max_element(values);
  const auto times = static_cast<double>(std::ranges::count(values, highest));
  // The mean of samples of nothing else.
  if (std::pow(times / n, n) >= tail) return highest;
  const auto is_below = [&values](double tilt) { return tilted(values, tilt).normal < normal_quantile; };
  double low = 0;
  double high = 1 / std::sqrt(n);
  constexpr int most_doublings = 40;
  for (int i = 0; i < most_doublings && is_below(high); ++i) low = std::exchange(high, 2 * high);
  constexpr int bisections = 24;
  for (int i = 0; i < bisections; ++i) {
    const double middle = (low + high) / 2;
    (is_below(middle) ? low : high) = middle;
  }
  return tilted(values, high).mean;
}

// Values are scaled to 0 to 1 first, so that squares of their differences neither vanish nor overflow.
Interval interval_of_many(const std::vector<double>& values, double lowest, double highest) {
  const auto n = static_cast<double>(values.size());
  std::vector<double> scaled;
  scaled.reserve(values.size());
  for (const double value : values) scaled.push_back((value - lowest) / (highest - lowest));
  const double mean = std::accumulate(scaled.begin(), scaled.end(), 0.0) / n;
  double squares = 0;
  for (const double value : scaled) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / n);
  for (double& value : scaled) value = (value - mean) / deviation;
  const double above = upper_end(scaled);
  for (double& value : scaled) value = -value;
  const double below = upper_end(scaled);
  const auto unscaled = [&](double value) { return lowest + (highest - lowest) * value; };
  return {.low = unscaled(mean - deviation * below), .high = unscaled(mean + deviation * above)};
}

}  // namespace

Interval bootstrap_mean(const std::vector<double>& values) {
  const auto [lowest, highest] = std::ranges::minmax(values);
  if (lowest == highest) return {.low = lowest, .high = highest};
  if (values.size() > most_for_exact) return interval_of_many(values, lowest, highest);
  std::vector<WeightedMean> means = all_samples(values);
  std::ranges::sort(means);
  return {.low = quantile(means, tail), .high = quantile(means, 1 - tail)};
}

std::optional<int> coverage_percent(std::size_t values) {
  constexpr std::array of_two_and_more = {50, 75, 81, 84, 86, 88, 89, 90, 90};
  if (values < 2 || values - 2 >= of_two_and_more.size()) return std::nullopt;
  return of_two_and_more.at(values - 2);
}

}  // namespace thinpipe
