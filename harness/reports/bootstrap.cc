#include "harness/reports/bootstrap.hh"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>

namespace thinpipe {
namespace {

constexpr double tail = 0.025;
constexpr std::size_t most_for_exact = 8;
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

}  // namespace

Interval bootstrap_mean(const std::vector<double>& values) {
  std::vector<WeightedMean> means =
      values.size() <= most_for_exact ? all_samples(values) : random_samples(values);
  std::ranges::sort(means);
  return {.low = quantile(means, tail), .high = quantile(means, 1 - tail)};
}

}  // namespace thinpipe
