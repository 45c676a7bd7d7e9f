// SPDX-License-Identifier: Apache-2.0
// The data of a device that this machine does not have, from which its compute profile is estimated. Format:
// docs/reference/records.md, devices. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/support/options.hh"

namespace thinpipe {

inline constexpr int device_schema_version = 1;

// Roofline model (Williams et al. 2009): a kernel takes the longer of its arithmetic time and its memory
// traffic time, and at least its launch time.
struct Device {
  std::string name = {};
  std::string source = {};  // of the numbers
  double peak_flop_per_s = 0;
  double flop_efficiency = 0;  // fraction of the peak that kernels reach
  double memory_byte_per_s = 0;
  double memory_efficiency = 0;
  double kernel_s = 0;
  std::optional<double> update_kernel_s = {};  // of the optimiser's kernels

  bool operator==(const Device&) const = default;

  void visit(auto& field) {
    std::int64_t schema_version = device_schema_version;
    field("schema_version", schema_version,
          Rule{.effect = "version of this format",
               .at_least = 1,
               .at_most = device_schema_version,
               .required = true});
    field("name", name, Rule{.effect = "the device", .required = true});
    field("source", source, Rule{.effect = "of the numbers", .required = true});
    field("peak_flop_per_s", peak_flop_per_s,
          Rule{.effect = "highest arithmetic rate", .above = 0, .required = true});
    field("flop_efficiency", flop_efficiency,
          Rule{.effect = "fraction of it that kernels reach", .above = 0, .at_most = 1, .required = true});
    field("memory_byte_per_s", memory_byte_per_s,
          Rule{.effect = "memory bandwidth", .above = 0, .required = true});
    field("memory_efficiency", memory_efficiency,
          Rule{.effect = "fraction of it that kernels reach", .above = 0, .at_most = 1, .required = true});
    field("kernel_s", kernel_s, Rule{.effect = "shortest time of a kernel", .at_least = 0, .required = true});
    field(
        "update_kernel_s", update_kernel_s,
        Rule{
            .effect =
                "shortest time of a kernel of the optimiser, which has no backward; null: that of the others",
            .at_least = 0});
  }

  double time_of_kernel_s(double flops, double bytes) const;
  double time_of_pass_s(double bytes) const { return bytes / (memory_byte_per_s * memory_efficiency); }
};

Json to_json(const Device& device);

// Returns true if a file describes a device, false if it is a compute profile.
bool is_device(const Json& value);

// Strict; throws InputError.
Device parse_device(const Json& value, const Place& place);

}  // namespace thinpipe
