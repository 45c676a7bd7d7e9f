// SPDX-License-Identifier: Apache-2.0
// The overrides of --set: "path=value" replaces a value of the base. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/experiment/axis.hh"

namespace thinpipe {

// Returns whether the value at a path of the configuration can only be a string.
using IsText = std::function<bool(const std::vector<std::string>& keys)>;

// Parses "path=value". The value is JSON if it parses as JSON, otherwise a string. If only a string is valid
// at the path, it is a string, too: weights.file=123 names a file. null always restores the default.
// `is_text` is called only if it matters; an empty one allows any type. Throws InputError.
Layer parse_override(const std::string& assignment, const IsText& is_text);

}  // namespace thinpipe
