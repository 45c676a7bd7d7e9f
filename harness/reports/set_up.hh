// SPDX-License-Identifier: Apache-2.0
// The set-up cost of a run, of which train time has no part. docs/reference/metrics.md defines it. Pure.
#pragma once

#include "harness/records/record_data.hh"

namespace thinpipe {

// Returns the record's set-up cost or, for a record older than it, the parts that follow from the rest: nothing was
// done, or a profile of another device has the time. The other parts are unknown.
record::SetUp set_up_of(const Record& record);

// Returns the sum; nullopt if a part is unknown.
std::optional<double> total_s(const record::SetUp& set_up);

}  // namespace thinpipe
