#include "netem/rate_record.hh"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace thinpipe::netem {
namespace {

constexpr double lowest_median = 0.98;
constexpr double lowest_5th_percentile = 0.90;
constexpr double rounding = 0.01;  // of the kernel's clock and of the shape

double quantile(std::vector<double> values, double fraction) {
  const auto rank = static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + rank);
  return values[static_cast<std::size_t>(rank)];
}

double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

}  // namespace

bool RateRecord::Window::complete() const {
  return backlogged_s >= window_s && backlogged_readings >= window_readings &&
         std::sqrt(variance_s2) <= window_error * backlogged_s;
}

void RateRecord::add(const LinkCounters& counters) {
  if (!first_) first_ = fastest_from_ = counters;
  if (last_ && counters.time_s > last_->time_s) {
    const double time_s = counters.time_s - last_->time_s;
    const bool before = last_->backlog_bytes > 0;
    const bool now = counters.backlog_bytes > 0;
    window_.bytes += static_cast<double>(counters.bytes - last_->bytes);
    if (before && now) {
      window_.backlogged_s += time_s;
    } else if (before != now) {
      // The backlog began or ended somewhere in between, uniformly.
      window_.backlogged_s += time_s / 2;
      window_.variance_s2 += time_s * time_s / 12;
    }
    if (now) ++window_.backlogged_readings;
    if (window_.complete()) {
      window_ratios_.push_back(8 * window_.bytes / (shape_.rate_bit_per_s * window_.backlogged_s));
      backlogged_s_ += window_.backlogged_s;
      window_ = {};
    }
    note_fastest(counters);
  }
  last_ = counters;
}

void RateRecord::note_fastest(const LinkCounters& counters) {
  const double time_s = counters.time_s - fastest_from_->time_s;
  if (time_s < window_s) return;
  const double longest_s = time_s + counters.time_uncertainty_s + fastest_from_->time_uncertainty_s;
  fastest_ = std::max(fastest_, static_cast<double>(counters.bytes - fastest_from_->bytes) /
                                    (shape_.rate_bit_per_s / 8 * longest_s + shape_.burst_bytes));
  fastest_from_ = counters;
}

std::vector<Check> RateRecord::checks() const {
  if (!last_) return {};
  const std::string& name = last_->name;
  Check median{.name = "median rate while backlogged " + name,
               .asked = fmt::format("at least {:.2f} of the cap", lowest_median)};
  Check slowest{.name = "5th percentile of rate while backlogged " + name,
                .asked = fmt::format("at least {:.2f} of the cap", lowest_5th_percentile)};
  if (window_ratios_.size() >= fewest_windows) {
    const double middle = quantile(window_ratios_, 0.5);
    const double low = quantile(window_ratios_, 0.05);
    median.measured = rounded(middle);
    median.ok = middle >= lowest_median;
    slowest.measured = rounded(low);
    slowest.ok = low >= lowest_5th_percentile;
  } else {
    median.note = slowest.note =
        fmt::format("not judged: {:.2f} s of backlog gave {} windows, and a judgement takes {}",
                    backlogged_s_ + window_.backlogged_s, window_ratios_.size(), fewest_windows);
  }
  const std::uint64_t drops = last_->drops - first_->drops;
  const std::uint64_t full = last_->full_queue_drops - first_->full_queue_drops;
  const std::uint64_t early = drops > full ? drops - full : 0;
  return {
      median,
      slowest,
      {.name = "fastest 100 ms " + name,
       .asked = "at most 1 of the cap and one burst",
       .measured = rounded(fastest_),
       .ok = fastest_ <= 1 + rounding},
      {.name = "drops before the queue is full " + name, .asked = 0, .measured = early, .ok = early == 0}};
}

}  // namespace thinpipe::netem
