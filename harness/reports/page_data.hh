// SPDX-License-Identifier: Apache-2.0
// The runs and curves of a report page as JSON, in the order in which page/series.js and page/curves.js unpack them.
#pragma once

#include <string>
#include <vector>

#include "harness/reports/report.hh"

namespace thinpipe {

// Returns {"runs": one list per run, "shared": the values that their indices refer to, "measured": the names of
// the curves' fields that have values}.
Json page_data(const Report& report);

// Number of runs whose curves a browser loads together.
inline constexpr std::size_t runs_per_piece = 50;

// Returns JSON texts, each with the curves of runs_per_piece runs: per run one list per field.
std::vector<std::string> curve_pieces(const std::vector<Digest>& digests);

}  // namespace thinpipe
