// SPDX-License-Identifier: Apache-2.0
// Options of implementations in Python files, described at run time in the form of describe_options
// (common/support/options.hh).
#pragma once

#include "common/support/json_object.hh"

namespace thinpipe::trainer::python {

// Returns the described members of `object`, with defaults. Throws InputError with the place, the rule and the
// remedy if one is missing, has another type or is out of bounds.
Json read_described(JsonObject& object, const Json& description);

}  // namespace thinpipe::trainer::python
