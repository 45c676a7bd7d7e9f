// SPDX-License-Identifier: Apache-2.0
#include "common/support/units.hh"

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/exception.hh"
#include "common/support/nearest.hh"

namespace thinpipe {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Returns the base unit first, then the others in ascending order.
const std::vector<Unit>& units_of(Quantity quantity) {
  static const std::vector<Unit> rates = {{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}};
  static const std::vector<Unit> durations = {{"s", 1}, {"us", 1e-6}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}};
  static const std::vector<Unit> sizes = {{"bytes", 1},
                                          {"kB", 1e3},
                                          {"KiB", 1024},
                                          {"MB", 1e6},
                                          {"MiB", 1024.0 * 1024},
                                          {"GB", 1e9},
                                          {"GiB", 1024.0 * 1024 * 1024}};
  switch (quantity) {
    case Quantity::rate:
      return rates;
    case Quantity::duration:
      return durations;
    case Quantity::size:
      return sizes;
  }
  throw Error("unknown quantity");
}

std::string_view example(Quantity quantity) {
  switch (quantity) {
    case Quantity::rate:
      return "100 Mbit/s";
    case Quantity::duration:
      return "20 ms";
    case Quantity::size:
      return "1 MiB";
  }
  return "";
}

std::string to_lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Suggests only units that begin with the same letter, ignoring case: "bit/s" is one letter away from
// "mbit/s", but a million times smaller than "Mbit/s". A unit of one letter is too short for a suggestion.
std::string unit_suggestion(Quantity quantity, std::string_view unknown) {
  const std::string written = to_lower_case(unknown);
  std::vector<std::string> alike;
  for (const std::string& name : unit_names(quantity)) {
    const std::string known = to_lower_case(name);
    if (known == written)
      return fmt::format("; did you mean \"{}\"? known: {}", name, fmt::join(unit_names(quantity), ", "));
    if (known.front() == written.front() && written.size() > 1) alike.push_back(name);
  }
  std::string out = "; ";
  if (const auto match = nearest(unknown, alike)) out = fmt::format("; did you mean \"{}\"? ", *match);
  return fmt::format("{}known: {}", out, fmt::join(unit_names(quantity), ", "));
}

// Returns number * factor, without its rounding error if that leaves a whole number: 8.2 * 1e6 is 8199999.999999999.
double scaled(double number, double factor) {
  // The number, the factor and their product are each off by up to half an epsilon.
  constexpr double max_error = 2 * std::numeric_limits<double>::epsilon();
  const double product = number * factor;
  const double whole = std::round(product);
  return std::abs(product - whole) <= max_error * std::abs(product) ? whole : product;
}

}  // namespace

std::string_view base_unit(Quantity quantity) {
  return units_of(quantity).front().name;
}

std::vector<std::string> unit_names(Quantity quantity) {
  std::vector<std::string> names;
  for (const Unit& unit : units_of(quantity)) names.emplace_back(unit.name);
  return names;
}

double parse_quantity(Quantity quantity, std::string_view text) {
  double number = 0;
  const char* const text_end = text.data() + text.size();
  const auto [number_end, status] = std::from_chars(text.data(), text_end, number);
  if (status != std::errc() || !std::isfinite(number)) {
    throw Error(
        fmt::format("\"{}\" does not begin with a number; write it like \"{}\"", text, example(quantity)));
  }
  std::string_view unit_name(number_end, static_cast<std::size_t>(text_end - number_end));
  while (unit_name.starts_with(' ')) unit_name.remove_prefix(1);
  if (unit_name.empty()) {
    throw Error(fmt::format("\"{}\" has no unit; write it like \"{}\"", text, example(quantity)));
  }
  for (const Unit& unit : units_of(quantity)) {
    if (unit.name != unit_name) continue;
    const double value = scaled(number, unit.factor);
    if (!std::isfinite(value)) throw Error(fmt::format("\"{}\" is too large", text));
    return value;
  }
  throw Error(fmt::format("unknown unit \"{}\"{}", unit_name, unit_suggestion(quantity, unit_name)));
}

std::string quantity_pattern(Quantity quantity, Range range) {
  // A number is positive if a digit before its exponent is not zero.
  const char* const sign = range == Range::any ? "-?" : range == Range::positive ? "(?=[0-9.]*[1-9])" : "";
  return fmt::format(R"(^{}([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *({})$)", sign,
                     fmt::join(unit_names(quantity), "|"));
}

std::string format_quantity(Quantity quantity, double value) {
  const Unit* best = &units_of(quantity).front();
  const auto reads_well = [value](const Unit& unit) {
    const double scaled = std::abs(value / unit.factor);
    return scaled >= 1 && std::abs(scaled * 1000 - std::round(scaled * 1000)) < 1e-9 * scaled;
  };
  for (const Unit& unit : units_of(quantity)) {
    if (reads_well(unit) && (unit.factor > best->factor || !reads_well(*best))) best = &unit;
  }
  return fmt::format("{:.15g} {}", value / best->factor, best->name);
}

}  // namespace thinpipe
