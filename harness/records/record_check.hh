// Checks the members of a record on which reports and figures depend. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// Returns the place of the first member that is missing or of another type, and what it must be:
// "/curve/3/test_accuracy must be a number from 0 to 1". nullopt if there is none. The record must be
// from find_record().
std::optional<std::string> find_fault(const Json& record);

}  // namespace thinpipe
