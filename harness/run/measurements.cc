#include "harness/run/measurements.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace thinpipe {
namespace {

constexpr std::array parts = {&event::IterationTimes::load_s,   &event::IterationTimes::compute_s,
                              &event::IterationTimes::encode_s, &event::IterationTimes::exchange_s,
                              &event::IterationTimes::decode_s, &event::IterationTimes::exposed_exchange_s,
                              &event::IterationTimes::cpu_s};

}  // namespace

double quantile(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - std::floor(position)) * (values[above] - values[below]);
}

Measurements::Measurements() {
  for (const auto part : parts) sum_.*part = 0;
}

void Measurements::add(const event::Iteration& iteration) {
  if (iteration.times) add_times(*iteration.times);
  iterations_ = iteration.iteration;
  if (iteration.payload_bytes) payload_bytes_ = payload_bytes_.value_or(0) + *iteration.payload_bytes;
  if (iteration.sent_bytes) sent_bytes_ = sent_bytes_.value_or(0) + *iteration.sent_bytes;
  if (iteration.delivered_bytes) delivered_bytes_ = delivered_bytes_.value_or(0) + *iteration.delivered_bytes;
}

void Measurements::add(const event::ReplayedIteration& iteration) {
  if (!iteration.represents_first_step) add_times(iteration.times);
  train_time_s_ = iteration.times.train_time_s;
  iterations_ = iteration.iteration;
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
  for (const auto part : parts) {
    std::optional<double>& all_s = sum_.*part;
    const std::optional<double>& part_s = times.*part;
    all_s = all_s && part_s ? std::optional(*all_s + *part_s) : std::nullopt;
  }
  iteration_times_s_.push_back(times.iteration_time_s);
  train_time_s_ = times.train_time_s;
}

void Measurements::go_back_to(std::int64_t iteration) {
  iterations_ = std::max<std::int64_t>(0, iteration);
  while (!curve_.empty() && curve_.back().iteration > iteration) curve_.pop_back();
}

std::optional<record::IterationTime> Measurements::iteration_time_s() const {
  if (iteration_times_s_.empty()) return std::nullopt;
  const auto count = static_cast<double>(iteration_times_s_.size());
  const auto mean = [count](const std::optional<double>& all_s) {
    return all_s ? std::optional(*all_s / count) : std::nullopt;
  };
  return record::IterationTime{
      .p50 = quantile(iteration_times_s_, 0.5),
      .p90 = quantile(iteration_times_s_, 0.9),
      .mean = std::accumulate(iteration_times_s_.begin(), iteration_times_s_.end(), 0.0) / count,
      .load = mean(sum_.load_s),
      .compute = mean(sum_.compute_s),
      .encode = mean(sum_.encode_s),
      .exchange = mean(sum_.exchange_s),
      .decode = mean(sum_.decode_s),
      .exposed_exchange = mean(sum_.exposed_exchange_s),
      .cpu = mean(sum_.cpu_s)};
}

}  // namespace thinpipe
