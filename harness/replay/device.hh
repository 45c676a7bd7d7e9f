// What is known of a device on which a training does not run: enough to estimate a compute profile for it.
// Format: docs/results.md, devices. Pure.
#pragma once

#include <string>

#include "harness/support/json_object.hh"

namespace thinpipe {

inline constexpr int device_schema_version = 1;

// By the roofline model (Williams et al. 2009): a kernel takes as long as the slower of its arithmetic and
// its memory traffic, and no less than what starting it takes.
struct Device {
  std::string name = {};
  std::string source = {};  // of the figures
  double peak_flop_per_s = 0;
  double flop_efficiency = 0;  // share of the peak that kernels reach
  double memory_byte_per_s = 0;
  double memory_efficiency = 0;
  double kernel_s = 0;

  double time_of_kernel_s(double flops, double bytes) const;
  double time_of_pass_s(double bytes) const { return bytes / (memory_byte_per_s * memory_efficiency); }
};

Json to_json(const Device& device);

// Whether a file describes a device; a compute profile does not.
bool is_device(const Json& value);

// Strict; throws InputError.
Device parse_device(const Json& value, const Place& place);

}  // namespace thinpipe
