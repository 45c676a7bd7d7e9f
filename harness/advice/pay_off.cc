// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/pay_off.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "common/support/units.hh"

namespace thinpipe {
namespace {

constexpr int bisections = 20;  // of a quarter of an octave or so: to a millionth

// Returns the rate, between one that pays and one that does not, at which that changes.
double change_between(double paying, double other, const std::function<double(double)>& speed_up) {
  for (int i = 0; i < bisections; ++i) {
    const double middle = std::sqrt(paying * other);
    (speed_up(middle) > paying_speed_up ? paying : other) = middle;
  }
  return paying;
}

// Returns the indices of the first and the last rate of the longest run that pays; nullopt if none pays. Of
// equal runs the first counts.
std::optional<std::pair<std::size_t, std::size_t>> longest_run(const std::vector<bool>& pays) {
  std::optional<std::pair<std::size_t, std::size_t>> longest;
  for (std::size_t first = 0; first < pays.size(); ++first) {
    if (!pays[first] || (first > 0 && pays[first - 1])) continue;
    std::size_t last = first;
    while (last + 1 < pays.size() && pays[last + 1]) ++last;
    if (!longest || last - first > longest->second - longest->first) longest = {first, last};
  }
  return longest;
}

std::string rate_text(double rate_bit_per_s) {
  const double unit = std::pow(10, std::floor(std::log10(rate_bit_per_s)) - 2);
  return format_quantity(Quantity::rate, std::round(rate_bit_per_s / unit) * unit);
}

}  // namespace

std::optional<CapRange> find_pay_off(const std::vector<double>& rates_bit_per_s,
                                     const std::function<double(double)>& speed_up) {
  std::vector<bool> pays;
  for (const double rate : rates_bit_per_s) pays.push_back(speed_up(rate) > paying_speed_up);
  const auto run = longest_run(pays);
  if (!run) return std::nullopt;
  const auto [first, last] = *run;
  const auto& rates = rates_bit_per_s;
  CapRange range;
  if (first > 0) range.from_bit_per_s = change_between(rates[first], rates[first - 1], speed_up);
  if (last + 1 < rates.size()) range.to_bit_per_s = change_between(rates[last], rates[last + 1], speed_up);
  return range;
}

std::string describe(const std::optional<CapRange>& range) {
  if (!range) return "never";
  const auto& [from, to] = *range;
  if (from && to) return fmt::format("{} to {}", rate_text(*from), rate_text(*to));
  if (from) return fmt::format("above {}", rate_text(*from));
  return to ? fmt::format("below {}", rate_text(*to)) : "always";
}

std::vector<double> geometric_rates(double lowest, double highest, int per_decade) {
  const auto steps = std::lround(per_decade * std::log10(highest / lowest));
  std::vector<double> rates;
  for (long i = 0; i <= steps; ++i) {
    rates.push_back(i == steps ? highest : lowest * std::pow(10, static_cast<double>(i) / per_decade));
  }
  return rates;
}

}  // namespace thinpipe
