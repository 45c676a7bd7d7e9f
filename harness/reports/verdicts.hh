// SPDX-License-Identifier: Apache-2.0
// Verdicts on the emulated networks of compared runs, and the marks of numbers that depend on them. Pure.
#pragma once

#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// Returns the verdict on a number that depends on two networks: "degraded" if either is, otherwise "not judged" if
// either is, otherwise "faithful"; null if neither run had a network.
Json worse_verdict(const Json& one, const Json& other);

// Returns "†" for degraded, "‡" for not judged, otherwise "".
std::string mark_of(const Json& verdict);

// Returns a line that explains the marks in the rows' columns; empty if there are none.
std::string marks_note(const Json& rows);

}  // namespace thinpipe
