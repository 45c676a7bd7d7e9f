// Quantities with units, as users write them in JSON: "100 Mbit/s", "20 ms", "1 MiB".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

// What a quantity measures; decides the units it may be written in and the base unit of the parsed value.
enum class Quantity {
  rate,      // bit/s
  duration,  // s
  size,      // bytes
};

// The base unit's name: "bit/s", "s", "bytes".
std::string_view base_unit(Quantity quantity);

// The units a quantity may be written in, base unit first.
std::vector<std::string> unit_names(Quantity quantity);

// Parses "<number> <unit>" into base units. Throws Error with the rule and the accepted units when the number
// or the unit is wrong; the caller adds the place.
double parse_quantity(Quantity quantity, std::string_view text);

// Which numbers a quantity may have.
enum class Range { any, not_negative, positive };

// A regular expression (ECMA 262, as JSON Schema takes it) that matches what parse_quantity accepts and is in
// the range. Finer bounds it cannot express.
std::string quantity_pattern(Quantity quantity, Range range);

// The shortest exact spelling with the largest unit that keeps the number at least 1: 1e8 bit/s is "100
// Mbit/s".
std::string format_quantity(Quantity quantity, double value);

}  // namespace thinpipe
