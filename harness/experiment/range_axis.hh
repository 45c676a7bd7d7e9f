// Axes that count instead of listing: {"from": …, "to": …, "step": …} or {"from": …, "to": …, "factor": …}.
#pragma once

#include "harness/experiment/axis.hh"

namespace thinpipe {

// Whether the value of an axis is a range and no labels: a label "from" has a patch.
bool is_range(const OrderedJson& values);

// The values of the path from "from" to "to", both included: evenly spaced, or each a "factor" times the one
// before. They are numbers, or quantities with a unit, such as "100 Mbit/s". Integers are counted exactly;
// other numbers have the 12 digits that people write. Throws InputError.
Axis range_axis(const std::string& path, const Json& values, const Place& place);

}  // namespace thinpipe
