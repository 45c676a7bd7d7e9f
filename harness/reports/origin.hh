// SPDX-License-Identifier: Apache-2.0
// Where a report's numbers come from: mode, data, network, hardware, commit and fidelity of each run. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/reports/report.hh"
#include "harness/reports/tables.hh"

namespace thinpipe {

struct Origin {
  std::vector<std::pair<std::string, std::string>> common;  // facts equal for all runs: name, value
  Table table;                                              // one row per run: other facts, and fidelity
  std::vector<std::string> incomplete;                      // runs that did not complete, with their reasons
};

// Returns the origin of a report whose digests have origins.
Origin origin_of(const Report& report);

}  // namespace thinpipe
