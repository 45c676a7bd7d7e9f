// SPDX-License-Identifier: Apache-2.0
// The advice as text. Pure.
#pragma once

#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// Formats the output of `thinpipe advise --json` as a table with the assumptions behind it.
std::string format_advice(const Json& advice);

}  // namespace thinpipe
