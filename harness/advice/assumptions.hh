// SPDX-License-Identifier: Apache-2.0
// The assumptions behind advice, in words. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/advice/advice.hh"

namespace thinpipe {

// Returns one line per assumption, and per thing that the prediction leaves out. `stands_in`: only the number of
// parameters is known.
std::vector<std::string> assumptions(const std::vector<Candidate>& candidates, const CodecCosts& costs,
                                     bool stands_in);

}  // namespace thinpipe
