// SPDX-License-Identifier: Apache-2.0
// Quantities as people read them: rounded, with a unit. Configurations have exact ones (units.hh).
#pragma once

#include <string>

namespace thinpipe {

// "82.1 MB": three significant digits, decimal units.
std::string format_bytes(double bytes);

// "4.27", "44.0", "510"; of numbers from 1000 on, all digits before the point. Where the digits end is decided by
// `size`: the ends of an interval take their mean's. Repetitions of a run differ in the fourth digit.
std::string three_digits(double value, double size, int most_decimals = 3);

// "0.012 ms", "81.4 ms", "12.3 s": three digits, in seconds from 10 s on.
std::string format_time(double seconds);

// "95 s", "3 min 20 s", "2 h 5 min".
std::string format_duration(double seconds);

}  // namespace thinpipe
