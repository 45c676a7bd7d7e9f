// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/comparison/quantity.hh"

#include <fmt/format.h>

#include "common/support/readable.hh"

namespace thinpipe {
namespace {

std::string in_seconds(double value) {
  return three_digits(value, value) + " s";
}

std::string in_milliseconds(double value) {
  return three_digits(1000 * value, 1000 * value) + " ms";
}

std::string whole_number(double value) {
  return fmt::format("{:.0f}", value);
}

std::string as_accuracy(double value) {
  return fmt::format("{:.4f}", value);
}

}  // namespace

const std::vector<ComparedQuantity>& comparable_quantities() {
  static const std::vector<ComparedQuantity> all = {
      {"time_to_target", "time to target", "time_to_accuracy_s", QuantityKind::measured, true, in_seconds,
       "restricted_time_to_accuracy_s"},
      {"first_touch", "first touch", "first_touch_s", QuantityKind::measured, true, in_seconds},
      {"iterations_to_target", "iterations to target", "iterations_to_target", QuantityKind::learnt, true,
       whole_number, "restricted_iterations_to_target"},
      {"accuracy", "accuracy", "final_accuracy", QuantityKind::learnt, false, as_accuracy},
      {"payload_bytes", "payload per iteration", "payload_bytes_per_iteration", QuantityKind::computed, false,
       format_bytes},
      {"wire_bytes", "wire", "bottleneck_wire_bytes", QuantityKind::measured, false, format_bytes},
      {"iteration_time", "iteration", "iteration_time_s", QuantityKind::measured, false, in_milliseconds},
      {"curve", "curve", "", QuantityKind::learnt, false},
      {"weights", "weights", "", QuantityKind::learnt, false},
  };
  return all;
}

std::vector<std::string> quantity_names() {
  std::vector<std::string> names;
  for (const ComparedQuantity& quantity : comparable_quantities()) names.emplace_back(quantity.name);
  return names;
}

}  // namespace thinpipe
