// The overrides of --set: "path=value" replaces a value of the base. Pure.
#pragma once

#include <string>

#include "harness/experiment/axis.hh"

namespace thinpipe {

// Parses "path=value". The value is JSON if it parses as JSON, otherwise a string. If the schema allows only
// strings at the path, it is a string, too: weights.file=123 names a file. null always restores the default.
// A null schema allows any type. Throws InputError.
Layer parse_override(const std::string& assignment, const Json& experiment_schema);

}  // namespace thinpipe
