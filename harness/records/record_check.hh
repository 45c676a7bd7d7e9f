// Checks the members of a record on which reports depend, by the rules of record.schema.json. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// Returns whether the value is an object with the parts that every record has.
bool is_record(const Json& value);

// Returns the place and the rule of the first member that violates the schema: "/curve/3/test_accuracy must be
// a number from 0 to 1". nullopt if there is none. The value must be a record (is_record). Ignores
// members that no report reads.
std::optional<std::string> find_fault(const Json& record);

}  // namespace thinpipe
