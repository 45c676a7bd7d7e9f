// SPDX-License-Identifier: Apache-2.0
#include "harness/run/measurements.hh"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace thinpipe {
namespace {

struct Weighted {
  double value = 0;
  double weight = 1;
};

// Returns the smallest value that has at least the share p of the weight up to it; with equal weights, the quantile()
// of the values.
double quantile(std::vector<Weighted> values, double p) {
  if (std::ranges::adjacent_find(values, std::ranges::not_equal_to{}, &Weighted::weight) == values.end()) {
    std::vector<double> plain;
    for (const Weighted& each : values) plain.push_back(each.value);
    return thinpipe::quantile(std::move(plain), p);
  }
  std::ranges::sort(values, {}, &Weighted::value);
  double left = 0;
  for (const Weighted& each : values) left += p * each.weight;
  for (const Weighted& each : values) {
    left -= each.weight;
    if (left <= 0) return each.value;
  }
  return values.back().value;
}

}  // namespace

double quantile(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - std::floor(position)) * (values[above] - values[below]);
}

void Measurements::add(const event::Iteration& iteration) {
  if (iteration.times) add_times(*iteration.times);
  iterations_ = iteration.iteration;
  if (iteration.payload_bytes) payload_bytes_ = payload_bytes_.value_or(0) + *iteration.payload_bytes;
  if (iteration.sent_bytes) sent_bytes_ = sent_bytes_.value_or(0) + *iteration.sent_bytes;
  if (iteration.delivered_bytes) delivered_bytes_ = delivered_bytes_.value_or(0) + *iteration.delivered_bytes;
}

void Measurements::add(const event::ReplayedIteration& iteration) {
  add_times(iteration.times);
  if (iteration.represents_first_step) timed_.back().weight = 0;
  train_time_s_ = iteration.times.train_time_s;
  iterations_ = iteration.iteration;
}

void Measurements::add(const event::Replayed& replayed) {
  std::size_t next = 0;
  for (const event::ReplayedClass& each : replayed.classes) {
    const double weight = static_cast<double>(each.steps) / static_cast<double>(each.iterations);
    for (std::int64_t i = 0; i < each.iterations && next < timed_.size(); ++i)
      timed_[next++].weight *= weight;
  }
}

void Measurements::add(const event::Evaluation& evaluation) {
  curve_.push_back({.iteration = evaluation.iteration,
                    .epoch = evaluation.epoch,
                    .train_time_s = evaluation.train_time_s,
                    .train_loss = evaluation.train_loss,
                    .test_loss = evaluation.test_loss,
                    .test_accuracy = evaluation.test_accuracy});
}

void Measurements::add_times(const event::IterationTimes& times) {
  timed_.push_back({.times = times});
  train_time_s_ = times.train_time_s;
}

void Measurements::go_back_to(std::int64_t iteration) {
  iterations_ = std::max<std::int64_t>(0, iteration);
  while (!curve_.empty() && curve_.back().iteration > iteration) curve_.pop_back();
}

std::optional<record::IterationTime> Measurements::iteration_time_s() const {
  std::vector<Weighted> iteration_times_s;
  double all_weights = 0;
  for (const auto& [times, weight] : timed_) {
    if (weight == 0) continue;
    iteration_times_s.push_back({.value = times.iteration_time_s, .weight = weight});
    all_weights += weight;
  }
  if (iteration_times_s.empty()) return std::nullopt;
  const auto mean = [&](std::optional<double> event::IterationTimes::*part) {
    std::optional<double> sum_s = 0;
    for (const auto& [times, weight] : timed_) {
      if (weight == 0) continue;
      const std::optional<double>& part_s = times.*part;
      sum_s = sum_s && part_s ? std::optional(*sum_s + weight * *part_s) : std::nullopt;
    }
    return sum_s ? std::optional(*sum_s / all_weights) : std::nullopt;
  };
  double sum_s = 0;
  for (const Weighted& each : iteration_times_s) sum_s += each.weight * each.value;
  return record::IterationTime{.p50 = quantile(iteration_times_s, 0.5),
                               .p90 = quantile(iteration_times_s, 0.9),
                               .mean = sum_s / all_weights,
                               .load = mean(&event::IterationTimes::load_s),
                               .compute = mean(&event::IterationTimes::compute_s),
                               .encode = mean(&event::IterationTimes::encode_s),
                               .exchange = mean(&event::IterationTimes::exchange_s),
                               .decode = mean(&event::IterationTimes::decode_s),
                               .exposed_exchange = mean(&event::IterationTimes::exposed_exchange_s),
                               .cpu = mean(&event::IterationTimes::cpu_s)};
}

}  // namespace thinpipe
