#include "common/protocol/device.hh"

#include <algorithm>

namespace thinpipe {

double Device::time_of_kernel_s(double flops, double bytes) const {
  return std::max({flops / (peak_flop_per_s * flop_efficiency), time_of_pass_s(bytes), kernel_s});
}

Json to_json(const Device& device) {
  return {{"schema_version", device_schema_version},
          {"name", device.name},
          {"source", device.source},
          {"peak_flop_per_s", device.peak_flop_per_s},
          {"flop_efficiency", device.flop_efficiency},
          {"memory_byte_per_s", device.memory_byte_per_s},
          {"memory_efficiency", device.memory_efficiency},
          {"kernel_s", device.kernel_s}};
}

bool is_device(const Json& value) {
  return value.is_object() && value.contains("peak_flop_per_s");
}

Device parse_device(const Json& value, const Place& place) {
  JsonObject object(value, place);
  std::int64_t schema_version = 0;
  Device device;
  object.read("schema_version", schema_version,
              {.at_least = 1, .at_most = device_schema_version, .required = true});
  object.read("name", device.name, {.required = true});
  object.read("source", device.source, {.required = true});
  object.read("peak_flop_per_s", device.peak_flop_per_s, {.above = 0, .required = true});
  object.read("flop_efficiency", device.flop_efficiency, {.above = 0, .at_most = 1, .required = true});
  object.read("memory_byte_per_s", device.memory_byte_per_s, {.above = 0, .required = true});
  object.read("memory_efficiency", device.memory_efficiency, {.above = 0, .at_most = 1, .required = true});
  object.read("kernel_s", device.kernel_s, {.at_least = 0, .required = true});
  object.finish();
  return device;
}

}  // namespace thinpipe
