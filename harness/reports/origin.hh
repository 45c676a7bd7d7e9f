// Where a report's numbers come from: mode, data, network, hardware, commit and fidelity of each run. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/reports/report.hh"
#include "harness/reports/tables.hh"

namespace thinpipe {

struct Origin {
  std::vector<std::pair<std::string, std::string>> common;  // what is the same of all runs: name, value
  Table table;                                              // one row a run: what differs, and fidelity
  std::vector<std::string> incomplete;                      // runs that did not complete, with their reasons
};

// Of a report whose digests know their origin.
Origin origin_of(const Report& report);

}  // namespace thinpipe
