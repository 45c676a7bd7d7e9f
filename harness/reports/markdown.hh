// A report as Markdown, to be pasted into an issue or a paper's notes. Pure.
#pragma once

#include <string>

#include "harness/reports/report.hh"

namespace thinpipe {

// Pipe tables (GitHub's, Pandoc's): the runs, and below them the means over seeds. Labels are shown as they
// are written: nothing in them is markup.
std::string markdown_report(const Report& report);

}  // namespace thinpipe
