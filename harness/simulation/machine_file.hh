// SPDX-License-Identifier: Apache-2.0
// The measured description of a machine, on which simulations base the costs of communication. Format:
// docs/reference/records.md, measured machines. Pure.
#pragma once

#include <string>

#include "common/support/json_object.hh"
#include "harness/simulation/machine_model.hh"

namespace thinpipe {

inline constexpr int machine_schema_version = 1;
// Machines measured before are measured again: since 2, workers have the environment that they have in runs.
inline constexpr int machine_content_version = 2;

struct MachineFile {
  Json device = Json::object();         // CPU, kernel and program with which it was measured
  Json configuration = Json::object();  // {"topology", "collective", "workers"}: what communicated
  double cores = 1;
  CommunicationCosts costs = {};
  double balancing_s = 0;
};

Json to_json(const MachineFile& machine);

// Strict; throws InputError.
MachineFile parse_machine_file(const Json& value, const std::string& file);
MachineFile load_machine_file(const std::string& path);

}  // namespace thinpipe
