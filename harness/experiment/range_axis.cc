// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/range_axis.hh"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "harness/experiment/merge.hh"

namespace thinpipe {
namespace {

// Not all larger integers are exact as doubles.
constexpr std::int64_t exact_integer = std::int64_t{1} << 53;

std::optional<Quantity> quantity_of(const Json& value, const Place& place) {
  if (!value.is_string()) return std::nullopt;
  const auto text = value.get<std::string>();
  std::string examples;
  for (const Quantity quantity : {Quantity::rate, Quantity::duration, Quantity::size}) {
    try {
      parse_quantity(quantity, text);
      return quantity;
    } catch (const Error&) {
      examples += fmt::format(", {}", fmt::join(unit_names(quantity), ", "));
    }
  }
  throw InputError(place, fmt::format("must be a number, alone or with a unit ({}), but is {}",
                                      examples.substr(2), value.dump()));
}

bool is_too_large(const Json& value) {
  return value.is_number_unsigned() &&
         value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

// The numbers of a range, in base units. Integers stay integers.
struct Bounds {
  std::optional<Quantity> quantity = {};
  Json from = {};
  Json to = {};
  bool is_geometric = false;
  Json by = {};  // the step or the factor

  bool is_whole() const {
    return from.is_number_integer() && to.is_number_integer() && by.is_number_integer();
  }
  std::string show(const Json& value) const {
    return quantity ? format_quantity(*quantity, value.get<double>()) : value.dump();
  }
};

// Returns the value as a double. Throws InputError if it is an integer that a double cannot hold exactly.
double as_double(const Json& value, const Place& place) {
  const bool is_exact = !value.is_number_integer() || (value >= -exact_integer && value <= exact_integer);
  if (!is_exact) {
    throw InputError(place,
                     fmt::format("must be at most 2^53 unless all numbers of the range are whole, but is {}",
                                 value.dump()));
  }
  return value.get<double>();
}

Json read_number(JsonObject& object, const char* key, std::optional<Quantity> quantity) {
  const Json& value = object.get(key);
  const Place place = object.place_of(key);
  if (is_too_large(value)) {
    throw InputError(place, fmt::format("must be at most {}, but is {}",
                                        std::numeric_limits<std::int64_t>::max(), value.dump()));
  }
  double number = 0;
  read_value(value, place, {.quantity = quantity}, number);
  if (!quantity) return value;
  const bool is_whole =
      number == std::floor(number) && std::abs(number) <= static_cast<double>(exact_integer);
  return is_whole ? Json(static_cast<std::int64_t>(number)) : Json(number);
}

Bounds read_bounds(const Json& values, const Place& place) {
  JsonObject object(values, place);
  Bounds bounds{.quantity = quantity_of(object.get("from"), place / "from")};
  bounds.from = read_number(object, "from", bounds.quantity);
  bounds.to = read_number(object, "to", bounds.quantity);
  const bool has_step = object.find("step") != nullptr;
  bounds.is_geometric = object.find("factor") != nullptr;
  object.finish();
  if (has_step == bounds.is_geometric) {
    throw InputError(place, fmt::format("must have either \"step\" or \"factor\", but has {}",
                                        has_step ? "both" : "neither"));
  }
  const char* const key = has_step ? "step" : "factor";
  bounds.by = read_number(object, key, has_step ? bounds.quantity : std::nullopt);
  const double least = has_step ? 0 : 1;
  if (!(bounds.by.get<double>() > least)) {
    throw InputError(place / key, fmt::format("must be above {} for the range to advance, but is {}", least,
                                              has_step ? bounds.show(bounds.by) : bounds.by.dump()));
  }
  if (bounds.is_geometric && !(bounds.from.get<double>() > 0)) {
    throw InputError(place / "from", fmt::format("must be above 0 for a \"factor\" to change it, but is {}",
                                                 bounds.show(bounds.from)));
  }
  if (bounds.to < bounds.from) {
    throw InputError(place / "to", fmt::format("must be at least \"from\", {}, but is {}",
                                               bounds.show(bounds.from), bounds.show(bounds.to)));
  }
  return bounds;
}

[[noreturn]] void refuse_way(const Bounds& bounds, const Place& place, const std::string& why) {
  throw InputError(place / (bounds.is_geometric ? "factor" : "step"),
                   fmt::format("must lead from {} to {} in a whole number of steps, fewer than {}, but {}",
                               bounds.show(bounds.from), bounds.show(bounds.to), max_sweep_runs, why));
}

// Returns the values of a range of integers. A value that overflows is beyond "to", too.
std::vector<Json> whole_values(const Bounds& bounds, const Place& place) {
  const auto to = bounds.to.get<std::int64_t>();
  const auto by = bounds.by.get<std::int64_t>();
  std::vector<Json> values;
  bool is_beyond = false;
  for (auto value = bounds.from.get<std::int64_t>(); !is_beyond && value <= to;) {
    if (values.size() == max_sweep_runs) refuse_way(bounds, place, "makes more");
    values.emplace_back(value);
    is_beyond = bounds.is_geometric ? __builtin_mul_overflow(value, by, &value)
                                    : __builtin_add_overflow(value, by, &value);
  }
  if (values.back() != bounds.to)
    refuse_way(bounds, place, fmt::format("its last value before that is {}", bounds.show(values.back())));
  return values;
}

// Returns the values of any other range. Steps are multiplied, not accumulated, and values are rounded to 12
// digits: 0.3, not 0.30000000000000004.
std::vector<Json> fractional_values(const Bounds& bounds, const Place& place) {
  const double from = as_double(bounds.from, place / "from");
  const double to = as_double(bounds.to, place / "to");
  const double by = as_double(bounds.by, place / (bounds.is_geometric ? "factor" : "step"));
  const double steps = bounds.is_geometric ? std::log(to / from) / std::log(by) : (to - from) / by;
  if (!(steps < static_cast<double>(max_sweep_runs)))
    refuse_way(bounds, place, fmt::format("makes {:g}", steps));
  if (std::abs(steps - std::round(steps)) > 1e-6) refuse_way(bounds, place, fmt::format("makes {:g}", steps));
  std::vector<Json> values;
  for (double i = 0; i <= std::round(steps); ++i) {
    const double exact = bounds.is_geometric ? from * std::pow(by, i) : from + i * by;
    values.emplace_back(std::stod(fmt::format("{:.12g}", exact)));
  }
  return values;
}

// Returns the value as users write it.
Json written(const Bounds& bounds, const Json& value) {
  if (!bounds.quantity) return value;
  const auto number = value.get<double>();
  std::string text = format_quantity(*bounds.quantity, number);
  if (parse_quantity(*bounds.quantity, text) == number) return text;
  return fmt::format("{} {}", number, base_unit(*bounds.quantity));
}

}  // namespace

bool is_range(const OrderedJson& values) {
  return values.is_object() && values.contains("from") && !values["from"].is_object();
}

Axis range_axis(const std::string& path, const Json& values, const Place& place) {
  const Bounds bounds = read_bounds(values, place);
  const std::vector<std::string> keys = path_keys(path, place);
  Axis axis{path, {}};
  for (const Json& number :
       bounds.is_whole() ? whole_values(bounds, place) : fractional_values(bounds, place)) {
    const Json value = written(bounds, number);
    axis.values.push_back({value_label(value), {{nested(keys, value), place, keys}}});
  }
  return axis;
}

}  // namespace thinpipe
