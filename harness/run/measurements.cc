#include "harness/run/measurements.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace thinpipe {
namespace {

struct Part {
  std::optional<double> event::IterationTimes::*time_s;
  const char* name;  // in the record
};
constexpr std::array<Part, 7> parts = {{{&event::IterationTimes::load_s, "load"},
                                        {&event::IterationTimes::compute_s, "compute"},
                                        {&event::IterationTimes::encode_s, "encode"},
                                        {&event::IterationTimes::exchange_s, "exchange"},
                                        {&event::IterationTimes::decode_s, "decode"},
                                        {&event::IterationTimes::exposed_exchange_s, "exposed_exchange"},
                                        {&event::IterationTimes::cpu_s, "cpu"}}};

}  // namespace

double quantile(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - std::floor(position)) * (values[above] - values[below]);
}

Measurements::Measurements() {
  for (const Part& part : parts) sum_.*part.time_s = 0;
}

void Measurements::add(const event::Iteration& iteration) {
  if (iteration.times) add_times(*iteration.times);
  iterations_ = iteration.iteration;
  payload_bytes_ += iteration.payload_bytes;
  sent_bytes_ += iteration.sent_bytes;
}

void Measurements::add(const event::ReplayedIteration& iteration) {
  if (!iteration.represents_first_step) add_times(iteration.times);
  train_time_s_ = iteration.times.train_time_s;
  iterations_ = iteration.iteration;
  payload_bytes_ += iteration.payload_bytes;
  sent_bytes_ += iteration.sent_bytes;
}

void Measurements::add(event::Evaluation evaluation) {
  evaluation.others = Json::object();
  Json point = to_json(evaluation);
  point.erase("event");
  curve_.push_back(std::move(point));
}

void Measurements::add_times(const event::IterationTimes& times) {
  for (const Part& part : parts) {
    std::optional<double>& all_s = sum_.*part.time_s;
    const std::optional<double>& part_s = times.*part.time_s;
    all_s = all_s && part_s ? std::optional(*all_s + *part_s) : std::nullopt;
  }
  iteration_times_s_.push_back(times.iteration_time_s);
  train_time_s_ = times.train_time_s;
}

void Measurements::go_back_to(std::int64_t iteration) {
  iterations_ = std::max<std::int64_t>(0, iteration);
  while (!curve_.empty() && curve_.back().at("iteration") > iteration) curve_.erase(curve_.size() - 1);
}

Json Measurements::iteration_time_s() const {
  if (iteration_times_s_.empty()) return nullptr;
  const auto count = static_cast<double>(iteration_times_s_.size());
  Json out = {{"p50", quantile(iteration_times_s_, 0.5)},
              {"p90", quantile(iteration_times_s_, 0.9)},
              {"mean", std::accumulate(iteration_times_s_.begin(), iteration_times_s_.end(), 0.0) / count}};
  for (const Part& part : parts) {
    const std::optional<double>& all_s = sum_.*part.time_s;
    out[part.name] = all_s ? Json(*all_s / count) : Json(nullptr);
  }
  return out;
}

}  // namespace thinpipe
