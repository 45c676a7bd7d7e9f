// A report as comma-separated values, for spreadsheets and pandas. Pure.
#pragma once

#include <string>

#include "harness/support/json_object.hh"

namespace thinpipe {

// A header and one line a row (of make_rows), quoted as RFC 4180 has it, lines ended by "\n". Columns are the
// rows' members, those of an object joined by dots; labels are "label.<axis>". First come experiment, label
// and the labels, then all others by name. Null is empty, a list is its JSON.
std::string csv_report(const Json& rows);

}  // namespace thinpipe
