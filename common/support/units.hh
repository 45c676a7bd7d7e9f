// SPDX-License-Identifier: Apache-2.0
// Quantities with units, as users write them in JSON: "100 Mbit/s", "20 ms", "1 MiB".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

// The kind of a quantity, which determines its units and the base unit of the parsed value.
enum class Quantity {
  rate,      // bit/s
  duration,  // s
  size,      // bytes
};

// Returns the base unit's name: "bit/s", "s", "bytes".
std::string_view base_unit(Quantity quantity);

// Returns the valid units, base unit first.
std::vector<std::string> unit_names(Quantity quantity);

// Parses "<number> <unit>" into base units. Throws Error, with the rule and the valid units, if the number or
// the unit is wrong; the caller adds the place. A whole number of base units is exact: "8.2 MB" is 8200000.
double parse_quantity(Quantity quantity, std::string_view text);

// The numbers that a quantity may have.
enum class Range { any, not_negative, positive };

// Returns a regular expression (ECMA 262, as in JSON Schema) for the texts that parse_quantity accepts and
// whose number is in the range. It cannot express finer bounds.
std::string quantity_pattern(Quantity quantity, Range range);

// Returns the shortest exact spelling with the largest unit that keeps the number at least 1: "100 Mbit/s"
// for 1e8 bit/s.
std::string format_quantity(Quantity quantity, double value);

}  // namespace thinpipe
