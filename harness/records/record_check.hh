// What is inside a record's members, as far as reports and figures depend on it. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// Returns the place of the first member that is missing or of another type, and what it must be:
// "/curve/3/test_accuracy must be a number from 0 to 1". nullopt if there is none. The record has the members
// that every record has.
std::optional<std::string> find_fault(const Json& record);

}  // namespace thinpipe
