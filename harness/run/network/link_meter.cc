// SPDX-License-Identifier: Apache-2.0
#include "harness/run/network/link_meter.hh"

#include <algorithm>
#include <chrono>

namespace thinpipe {
namespace {

// Period of measuring the live line's link use.
constexpr double use_period_s = 0.5;

}  // namespace

std::optional<std::uint64_t> bytes_between(const netem::LinkCounters& before,
                                           const netem::LinkCounters& after) {
  if (after.bytes < before.bytes) return std::nullopt;
  return after.bytes - before.bytes;
}

LinkMeter::LinkMeter(const netem::Network& network, const netem::ScheduleRunner& schedule_runner)
    : network_(network),
      schedule_runner_(schedule_runner),
      before_(network.counters()),
      after_(before_),
      shown_(before_) {}

void LinkMeter::begin() {
  // Discards the end that belongs to an earlier begin().
  after_ = before_ = network_.counters();
}

void LinkMeter::end() {
  after_ = network_.counters();
}

double LinkMeter::measured_s() const {
  return after_.empty() ? 0 : after_.front().time_s - before_.front().time_s;
}

std::optional<double> LinkMeter::use_since_last() {
  if (shown_.empty()) return std::nullopt;
  // Asked for every few milliseconds: a look at the clock is cheaper than one at all counters.
  const std::chrono::duration<double> now_s = std::chrono::steady_clock::now().time_since_epoch();
  if (now_s.count() - shown_.front().time_s < use_period_s) return std::nullopt;
  const std::vector<netem::LinkCounters> now = network_.counters();
  const double elapsed_s = now.front().time_s - shown_.front().time_s;
  double busiest = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto bits = 8 * static_cast<double>(bytes_between(shown_[i], now[i]).value_or(0));
    busiest = std::max(busiest, bits / elapsed_s / now[i].rate_bit_per_s);
  }
  shown_ = now;
  return busiest;
}

std::map<std::string, std::optional<std::int64_t>> LinkMeter::wire_bytes() const {
  std::map<std::string, std::optional<std::int64_t>> out;
  for (std::size_t i = 0; i < after_.size(); ++i) {
    out[after_[i].name] = bytes_between(before_[i], after_[i]);
  }
  return out;
}

std::map<std::string, std::optional<double>> LinkMeter::utilisation(double train_time_s) const {
  std::map<std::string, std::optional<double>> out;
  if (train_time_s <= 0) return out;
  for (std::size_t i = 0; i < after_.size(); ++i) {
    const auto bytes = bytes_between(before_[i], after_[i]);
    const double bits = 8 * static_cast<double>(bytes.value_or(0));
    const double cap = schedule_runner_.mean_rate_bit_per_s(i, before_[i].time_s, after_[i].time_s);
    out[after_[i].name] = cap > 0 && bytes ? std::optional(bits / (cap * train_time_s)) : std::nullopt;
  }
  return out;
}

}  // namespace thinpipe
