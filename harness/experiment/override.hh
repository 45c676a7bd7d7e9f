// What --set changes: "path=value" over the base of an experiment. Pure.
#pragma once

#include <string>

#include "harness/experiment/axis.hh"

namespace thinpipe {

// The value is JSON or else text; text too where the schema of experiments has only text at the path, so that
// weights.file=123 names a file. null is null everywhere: back to the default. A null schema types nothing.
// Throws InputError.
Layer parse_override(const std::string& assignment, const Json& experiment_schema);

}  // namespace thinpipe
