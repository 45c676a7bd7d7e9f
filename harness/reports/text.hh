// SPDX-License-Identifier: Apache-2.0
// A report for a terminal. Pure.
#pragma once

#include <string>

#include "harness/reports/report.hh"
#include "harness/reports/tables.hh"

namespace thinpipe {

// Returns the runs as a table and, below it, the means over seeds if there are any. To fit a wide terminal,
// leaves out columns in which no run has a value, and some that other formats have.
std::string text_report(const Report& report);

// Returns a table's columns for terminals.
std::string text_table(const Table& table);

}  // namespace thinpipe
