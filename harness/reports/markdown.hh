// SPDX-License-Identifier: Apache-2.0
// A report as Markdown, to paste into an issue or notes. Pure.
#pragma once

#include <string>

#include "harness/reports/report.hh"

namespace thinpipe {

// Returns pipe tables (for GitHub and Pandoc): the runs and, below them, the means over seeds. Escapes
// labels, so that they appear as they are written.
std::string markdown_report(const Report& report);

}  // namespace thinpipe
