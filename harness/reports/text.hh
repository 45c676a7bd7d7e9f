// A report for a terminal. Pure.
#pragma once

#include <string>

#include "harness/reports/report.hh"

namespace thinpipe {

// What means over seeds are of; the same words below every format's table.
inline constexpr const char* seeds_note =
    "Means with their 95 % confidence intervals; times and speed-ups over the runs that reached the target.";

// The runs as a table; below it, where there are any, the means over seeds. Columns in which no run has a
// value are left out, as are some that the other formats have: a line is to fit a wide terminal.
std::string text_report(const Report& report);

}  // namespace thinpipe
