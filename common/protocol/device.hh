// Data of a device, from which a compute profile is estimated without it. Format: docs/results.md, devices.
// Pure.
#pragma once

#include <string>

#include "common/support/json_object.hh"

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

  double time_of_kernel_s(double flops, double bytes) const;
  double time_of_pass_s(double bytes) const { return bytes / (memory_byte_per_s * memory_efficiency); }
};

Json to_json(const Device& device);

// Returns whether a file describes a device, unlike a compute profile.
bool is_device(const Json& value);

// Strict; throws InputError.
Device parse_device(const Json& value, const Place& place);

}  // namespace thinpipe
