// SPDX-License-Identifier: Apache-2.0
// The search for the caps at which a method pays off. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace thinpipe {

// A method pays off if its iterations are faster than the baseline's by more than this factor.
inline constexpr double paying_speed_up = 1.05;

// Caps at which a method pays off.
struct CapRange {
  std::optional<double> from_bit_per_s = {};  // nullopt: at the lowest cap of the search, too
  std::optional<double> to_bit_per_s = {};    // nullopt: at the highest, too

  bool operator==(const CapRange&) const = default;
};

// Returns the widest range of caps in which `speed_up` of the cap is above paying_speed_up; nullopt if it is at
// none of `rates_bit_per_s`, which are in rising order. Ends of the range between two of them are found by
// bisection.
std::optional<CapRange> find_pay_off(const std::vector<double>& rates_bit_per_s,
                                     const std::function<double(double)>& speed_up);

// Returns "always", "never", "below 1.24 Gbit/s", "above …" or "… to …", with three digits.
std::string describe(const std::optional<CapRange>& range);

// Returns rates from `lowest` to `highest` with `per_decade` of them per factor of ten.
std::vector<double> geometric_rates(double lowest, double highest, int per_decade);

}  // namespace thinpipe
