// SPDX-License-Identifier: Apache-2.0
// Validates records by harness/schema/record.schema.json.
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// Returns the schema violations of a record that this version wrote; empty if it is valid. Unlike readers,
// which accept the members that later versions add, refuses members that the schema does not describe.
std::vector<std::string> record_violations(const Json& record);

}  // namespace thinpipe
