// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/device.hh"

#include <algorithm>

namespace thinpipe {

double Device::time_of_kernel_s(double flops, double bytes) const {
  return std::max({flops / (peak_flop_per_s * flop_efficiency), time_of_pass_s(bytes), kernel_s});
}

Json to_json(const Device& device) {
  return write_options(device);
}

bool is_device(const Json& value) {
  return value.is_object() && value.contains("peak_flop_per_s");
}

Device parse_device(const Json& value, const Place& place) {
  return read_options<Device>(value, place);
}

}  // namespace thinpipe
