// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/machine_file.hh"

#include <fmt/format.h>

namespace thinpipe {

Json to_json(const MachineFile& machine) {
  return {{"schema_version", machine_schema_version},
          {"device", machine.device},
          {"configuration", machine.configuration},
          {"cores", machine.cores},
          {"core_s_per_message", machine.costs.core_s_per_message},
          {"core_s_per_byte", machine.costs.core_s_per_byte},
          {"core_s_per_capped_byte", machine.costs.core_s_per_capped_byte},
          {"balancing_s", machine.balancing_s}};
}

MachineFile parse_machine_file(const Json& value, const std::string& file) {
  JsonObject object(value, {file, ""});
  std::int64_t schema_version = 0;
  object.read("schema_version", schema_version, {.at_least = 1, .required = true});
  if (schema_version > machine_schema_version) {
    throw InputError(object.place_of("schema_version"),
                     fmt::format("is {}: the file was made by a newer thinpipe; this one reads up to {}",
                                 schema_version, machine_schema_version));
  }
  MachineFile machine;
  object.read("device", machine.device, {});
  object.read("configuration", machine.configuration, {});
  object.read("cores", machine.cores, {.above = 0, .required = true});
  CommunicationCosts& costs = machine.costs;
  object.read("core_s_per_message", costs.core_s_per_message, {.at_least = 0, .required = true});
  object.read("core_s_per_byte", costs.core_s_per_byte, {.at_least = 0, .required = true});
  object.read("core_s_per_capped_byte", costs.core_s_per_capped_byte, {.at_least = 0, .required = true});
  object.read("balancing_s", machine.balancing_s, {.at_least = 0, .required = true});
  object.finish();
  return machine;
}

MachineFile load_machine_file(const std::string& path) {
  return parse_machine_file(parse_json_file(path), path);
}

}  // namespace thinpipe
