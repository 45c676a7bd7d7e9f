// SPDX-License-Identifier: Apache-2.0
// A report as comma-separated values, for spreadsheets and pandas. Pure.
#pragma once

#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// Returns a header and one line per row (of take_rows), quoted as in RFC 4180, with lines ended by "\n".
// Columns are the rows' members; names in an object are joined by dots, and labels are "label.<axis>".
// Experiment, label and the labels come first, then all others by name. Null is an empty field, a list is
// JSON.
std::string csv_report(const Json& rows);

}  // namespace thinpipe
