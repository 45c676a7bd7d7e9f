#include "harness/reports/bootstrap.hh"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <utility>

namespace thinpipe {
namespace {

constexpr double tail = 0.025;
constexpr std::size_t most_for_exact = 8;
constexpr std::size_t most_for_drawing = 100;
constexpr int drawn_samples = 10000;

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

std::vector<WeightedMean> random_samples(const std::vector<double>& values) {
  std::mt19937_64 random(1);  // NOLINT(bugprone-random-generator-seed): reports must not differ between calls
  std::uniform_int_distribution<std::size_t> draw(0, values.size() - 1);
  std::vector<WeightedMean> out;
  for (int i = 0; i < drawn_samples; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < values.size(); ++j) sum += values[draw(random)];
    out.emplace_back(sum / static_cast<double>(values.size()), 1.0 / drawn_samples);
  }
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

// The mean of many draws is nearly normal; the second term is the first one of Cornish and Fisher's expansion, for
// skewed values. The error of the rest is below that of drawing samples, which would take seconds for each quantity of
// thousands of values.
Interval interval_of_many(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  double cubes = 0;
  for (const double value : values) {
    squares += std::pow(value - mean, 2);
    cubes += std::pow(value - mean, 3);
  }
  const double deviation = std::sqrt(squares / n);
  const double skewness = deviation > 0 ? cubes / n / std::pow(deviation, 3) : 0;
  constexpr double z = 1.959963984540054;
  const double shift = skewness * (z * z - 1) / (6 * std::sqrt(n));
  const double unit = deviation / std::sqrt(n);
  return {.low = mean + unit * (shift - z), .high = mean + unit * (shift + z)};
}

}  // namespace

Interval bootstrap_mean(const std::vector<double>& values) {
  if (values.size() > most_for_drawing) return interval_of_many(values);
  std::vector<WeightedMean> means =
      values.size() <= most_for_exact ? all_samples(values) : random_samples(values);
  std::ranges::sort(means);
  return {.low = quantile(means, tail), .high = quantile(means, 1 - tail)};
}

}  // namespace thinpipe
