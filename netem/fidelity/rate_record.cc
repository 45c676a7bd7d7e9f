// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/rate_record.hh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

namespace thinpipe::netem {
namespace {

constexpr double lowest_median = 0.98;
constexpr double lowest_5th_percentile = 0.90;
constexpr double loss_deviations = 5;  // standard deviations of the share of frames lost
constexpr double rounding = 0.01;      // of the kernel's clock and of the shape
constexpr double median_step = 1.05;   // factor by which a reading moves the running median

template <typename Rate>
double quantile(const std::vector<BacklogEstimate>& windows, double fraction, const Rate& rate) {
  std::vector<double> values;
  for (const BacklogEstimate& window : windows) values.push_back(std::invoke(rate, window));
  const auto rank = static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + rank);
  return values[static_cast<std::size_t>(rank)];
}

// Returns the share of frames, copies included, that are lost. Netem decides on a frame's copy and loss independently,
// sends one that is both copied and lost once, and loses copies like other frames.
double share_of_losses(const Impairments& impairments) {
  const double loss = impairments.loss;
  const double copies = impairments.duplication * (1 - loss);
  return loss * (1 - loss * impairments.duplication) / (1 + copies);
}

}  // namespace

void RateRecord::FrameCounts::add(const FrameCounts& other) {
  frames += other.frames;
  lost += other.lost;
  expected += other.expected;
  variance += other.variance;
}

void RateRecord::add(const LinkCounters& counters) {
  name_ = counters.name;
  if (!up_) return;
  if (!first_) first_ = slot_first_ = counters;
  if (!first_up_) first_up_ = counters;
  last_up_ = counters;
  if (last_ && counters.time_s > last_->time_s) {
    if (is_late(counters.time_s - last_->time_s)) {
      slot_.add_unknown(*last_, counters);
    } else {
      slot_.add(*last_, counters, shape_.rate_bit_per_s);
      if (surely_waited(*last_, counters, shape_)) sure_slot_.add(*last_, counters, shape_.rate_bit_per_s);
    }
    finish_slot(counters, slot_s);
  }
  last_ = counters;
}

bool RateRecord::is_late(double gap_s) {
  const bool late = gap_s > late_after_gaps * usual_gap_s_;
  // Equally many steps up and down hold it at the median.
  usual_gap_s_ *= gap_s > usual_gap_s_ ? median_step : 1 / median_step;
  return late;
}

void RateRecord::set_shape(const LinkShape& shape) {
  break_off();
  shape_ = shape;
  segment_bytes_ = std::max(segment_bytes_, segment_on_link_bytes(shape));
  lossy_ = lossy_ || shape.impairments.loss > 0;
}

void RateRecord::set_up(bool up) {
  break_off();
  early_drops_ += early_drops_since_up();
  first_up_.reset();
  last_up_.reset();
  up_ = up;
}

void RateRecord::break_off() {
  frame_counts_.add(frame_counts_since_break());
  // Changes may come once per slot, so half a slot must be enough to judge.
  if (last_) finish_slot(*last_, slot_s / 2);
  slot_ = sure_slot_ = {};
  first_.reset();
  last_.reset();
}

RateRecord::FrameCounts RateRecord::frame_counts_since_break() const {
  if (!last_) return {};
  const double share = share_of_losses(shape_.impairments);
  const std::uint64_t lost = last_->lost_on_purpose - first_->lost_on_purpose;
  const auto frames = static_cast<double>(last_->packets - first_->packets + lost);
  return {.frames = frames,
          .lost = static_cast<double>(lost),
          .expected = frames * share,
          .variance = frames * share * (1 - share)};
}

std::uint64_t RateRecord::early_drops_since_up() const {
  if (!last_up_) return 0;
  const std::uint64_t drops = last_up_->drops - first_up_->drops;
  const std::uint64_t full = last_up_->full_queue_drops - first_up_->full_queue_drops;
  const std::uint64_t lost = last_up_->lost_on_purpose - first_up_->lost_on_purpose;
  return drops > full + lost ? drops - full - lost : 0;
}

void RateRecord::finish_slot(const LinkCounters& counters, double min_s) {
  if (slot_.time_s < min_s) return;
  const double max_s = slot_.time_s + counters.time_uncertainty_s + slot_first_->time_uncertainty_s;
  max_rate_ratio_ =
      std::max(max_rate_ratio_, slot_.bytes / (shape_.rate_bit_per_s / 8 * max_s + credit_bytes(shape_)));
  windows_.add_slot(slot_);
  sure_windows_.add_slot(sure_slot_);
  slot_first_ = counters;
  slot_ = sure_slot_ = {};
}

std::vector<Check> RateRecord::rate_checks() const {
  const std::vector<BacklogEstimate> windows = windows_.windows(segment_bytes_);
  const std::vector<BacklogEstimate> sure = sure_windows_.windows(segment_bytes_);
  const BacklogEstimate& all = windows_.all();
  const double backlogged_s = all.backlogged_s;
  // If no two readings in a row are without a backlog, bytes may pass as fast as the cap in between.
  const double idle_bytes_per_s =
      all.idle_s > 0 ? all.idle_bytes / all.idle_s : all.backlogged_bytes / std::max(backlogged_s, slot_s);
  const auto lowest_rate_of = [&](const BacklogEstimate& window) {
    return window.lowest_rate_of_cap(idle_bytes_per_s);
  };
  const bool is_sure =
      sure.size() >= min_windows && sure_windows_.all().backlogged_s >= least_sure_share * backlogged_s;
  const auto check_of = [&](const char* what, double fraction, double lowest) {
    Check check{.name = fmt::format("{} while backlogged {}", what, name_),
                .asked = fmt::format("at least {:.2f} of the cap", lowest)};
    if (windows.size() < min_windows) {
      check.note = fmt::format("not judged: {:.2f} s of backlog gave {} windows, but a judgement needs {}",
                               backlogged_s, windows.size(), min_windows);
      return check;
    }
    double rate = quantile(windows, fraction, &BacklogEstimate::rate_of_cap);
    if (is_sure) rate = std::min(rate, quantile(sure, fraction, &BacklogEstimate::rate_of_cap));
    const double lowest_rate = quantile(windows, fraction, lowest_rate_of);
    if (rate >= lowest && !is_sure && lowest_rate < lowest) {
      check.note = fmt::format(
          "not judged: frames that passed without waiting may hide a slow shaper, as the rate is between {:.2f} "
          "and {:.2f} of the cap",
          lowest_rate, rate);
      return check;
    }
    check.measured = rounded(rate);
    check.ok = rate >= lowest;
    return check;
  };
  Check median = check_of("median rate", 0.5, lowest_median);
  median.rate_of = name_;
  return {median, check_of("5th percentile of rate", 0.05, lowest_5th_percentile)};
}

std::vector<Check> RateRecord::checks() const {
  if (name_.empty()) return {};
  const std::uint64_t early_drops = early_drops_ + early_drops_since_up();
  FrameCounts frame_counts = frame_counts_;
  frame_counts.add(frame_counts_since_break());
  std::vector<Check> out = rate_checks();
  out.push_back({.name = "fastest 100 ms " + name_,
                 .asked = "at most 1 of the cap plus the credit of a pause",
                 .measured = rounded(max_rate_ratio_),
                 .ok = max_rate_ratio_ <= 1 + rounding});
  out.push_back({.name = "drops before the queue is full " + name_,
                 .asked = 0,
                 .measured = early_drops,
                 .ok = early_drops == 0});
  if (lossy_) out.push_back(loss_check(frame_counts));
  return out;
}

Check RateRecord::loss_check(const FrameCounts& frame_counts) const {
  // The mean over frames, because the loss may have changed.
  const double asked = frame_counts.frames > 0 ? frame_counts.expected / frame_counts.frames
                                               : share_of_losses(shape_.impairments);
  Check check{.name = "share of frames lost " + name_, .asked = asked};
  // Below this, a binomial distribution is not normal enough for the bound.
  if (frame_counts.expected < 10) {
    check.note = fmt::format("not judged: {:.1f} losses were expected in {:.0f} frames",
                             frame_counts.expected, frame_counts.frames);
    return check;
  }
  check.measured = frame_counts.lost / frame_counts.frames;
  check.ok = std::abs(frame_counts.lost - frame_counts.expected) <=
             loss_deviations * std::sqrt(frame_counts.variance);
  return check;
}

}  // namespace thinpipe::netem
