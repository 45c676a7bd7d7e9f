// SPDX-License-Identifier: Apache-2.0
// Axes that are ranges: {"from": …, "to": …, "step": …} or {"from": …, "to": …, "factor": …}.
#pragma once

#include "harness/experiment/axis.hh"

namespace thinpipe {

// Returns whether the value of an axis is a range. Labels differ: the value of a label "from" is an object.
bool is_range(const OrderedJson& values);

// Returns the values of the path from "from" to "to", both included: evenly spaced, or each a "factor" times
// the previous one. Values are numbers or quantities, such as "100 Mbit/s". Integers are exact; other numbers
// are rounded to 12 digits. Throws InputError.
Axis range_axis(const std::string& path, const Json& values, const Place& place);

}  // namespace thinpipe
