// The published JSON Schema of topologies, applied.
#pragma once

#include <string>
#include <vector>

#include "harness/support/json_object.hh"

namespace thinpipe::netem {

Json topology_schema();

// What the schema finds wrong with a topology; empty when it is valid.
std::vector<std::string> schema_violations(const Json& topology);

}  // namespace thinpipe::netem
