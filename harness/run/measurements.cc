#include "harness/run/measurements.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace thinpipe {
namespace {

// The event's field and the record's name for it.
constexpr std::array<std::pair<const char*, const char*>, 7> parts = {
    {{"load_s", "load"},
     {"compute_s", "compute"},
     {"encode_s", "encode"},
     {"exchange_s", "exchange"},
     {"decode_s", "decode"},
     {"exposed_exchange_s", "exposed_exchange"},
     {"processor_s", "processor"}}};

}  // namespace

double quantile(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - std::floor(position)) * (values[above] - values[below]);
}

void Measurements::add(const Json& event) {
  const auto kind = event.at("event").get<std::string>();
  if (kind == "iteration" || kind == "replayed_iteration") {
    if (!event.at("train_time_s").is_null()) add_times(event);
    iterations_ = event.at("iteration").get<std::int64_t>();
    payload_bytes_ += event.at("payload_bytes").get<std::int64_t>();
    sent_bytes_ += event.at("sent_bytes").get<double>();
  } else if (kind == "evaluation") {
    Json point;
    for (const char* field :
         {"epoch", "iteration", "train_time_s", "train_loss", "test_loss", "test_accuracy"}) {
      point[field] = event.at(field);
    }
    curve_.push_back(std::move(point));
  } else if (kind == "summary") {
    summary_ = event;
  }
}

// Adds all times or none: the record is made of the events before a broken one.
void Measurements::add_times(const Json& event) {
  Json parts_s = parts_s_;
  for (const auto& [field, name] : parts) {
    const Json& part_s = event.at(field);
    Json& all_s = *parts_s.emplace(name, 0.0).first;
    if (part_s.is_null()) all_s = nullptr;
    if (!all_s.is_null()) all_s = all_s.get<double>() + part_s.get<double>();
  }
  const auto train_time_s = event.at("train_time_s").get<double>();
  if (event.value("stands_for_first", false)) {
    train_time_s_ = train_time_s;
    return;
  }
  iteration_times_s_.push_back(event.at("iteration_time_s").get<double>());
  train_time_s_ = train_time_s;
  parts_s_ = std::move(parts_s);
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
  for (const auto& [field, name] : parts) {
    const Json& all_s = parts_s_.at(name);
    out[name] = all_s.is_null() ? Json(nullptr) : Json(all_s.get<double>() / count);
  }
  return out;
}

}  // namespace thinpipe
