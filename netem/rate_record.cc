#include "netem/rate_record.hh"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace thinpipe::netem {
namespace {

constexpr double median_tolerance = 0.02;
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

void RateRecord::add(const LinkCounters& counters) {
  if (!first_) first_ = counters;
  if (last_ && counters.time_s > last_->time_s) {
    const double cap = shape_.rate_bit_per_s / 8;
    const double time_s = counters.time_s - last_->time_s;
    const double longest_s = time_s + counters.time_uncertainty_s + last_->time_uncertainty_s;
    const auto bytes = static_cast<double>(counters.bytes - last_->bytes);
    const auto backlog = static_cast<double>(last_->backlog_bytes);
    fastest_ = std::max(fastest_, bytes / (cap * longest_s + shape_.burst_bytes));
    if (backlog >= cap * longest_s + shape_.burst_bytes) {
      add_certain(time_s, bytes);
    } else if (backlog >= cap * std::chrono::duration<double>(sampling_period).count() + shape_.burst_bytes) {
      late_s_ += time_s;
    }
  }
  last_ = counters;
}

void RateRecord::add_certain(double time_s, double bytes) {
  open_window_s_ += time_s;
  open_window_bytes_ += bytes;
  if (open_window_s_ < window_s) return;
  window_ratios_.push_back(8 * open_window_bytes_ / open_window_s_ / shape_.rate_bit_per_s);
  open_window_s_ = 0;
  open_window_bytes_ = 0;
}

std::vector<Check> RateRecord::checks() const {
  if (!last_) return {};
  const std::string& name = last_->name;
  Check median{
      .name = "median rate " + name,
      .asked = fmt::format("{:.2f} to {:.2f} of the cap", 1 - median_tolerance, 1 + median_tolerance)};
  Check slowest{.name = "5th percentile of rate " + name,
                .asked = fmt::format("at least {:.2f} of the cap", lowest_5th_percentile)};
  if (window_ratios_.size() >= fewest_windows) {
    const double middle = quantile(window_ratios_, 0.5);
    const double low = quantile(window_ratios_, 0.05);
    median.measured = rounded(middle);
    median.ok = std::abs(middle - 1) <= median_tolerance;
    slowest.measured = rounded(low);
    slowest.ok = low >= lowest_5th_percentile;
  } else {
    const bool overloaded = late_s_ >= static_cast<double>(fewest_windows) * window_s;
    median.ok = slowest.ok = !overloaded;
    median.note = slowest.note = fmt::format(
        "only {} of the {} windows of 100 ms with a standing backlog that a judgement takes: {}",
        window_ratios_.size(), fewest_windows,
        overloaded ? fmt::format("for {:.1f} s readings came too late, as on an overloaded machine", late_s_)
                   : "the link was hardly ever full, so its cap mattered little");
  }
  const std::uint64_t drops = last_->drops - first_->drops;
  const std::uint64_t full = last_->full_queue_drops - first_->full_queue_drops;
  const std::uint64_t early = drops > full ? drops - full : 0;
  return {
      median,
      slowest,
      {.name = "fastest moment " + name,
       .asked = "at most 1 of the cap and one burst",
       .measured = rounded(fastest_),
       .ok = fastest_ <= 1 + rounding},
      {.name = "drops before the queue is full " + name, .asked = 0, .measured = early, .ok = early == 0}};
}

}  // namespace thinpipe::netem
