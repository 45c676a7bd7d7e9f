// SPDX-License-Identifier: Apache-2.0
// A report as Markdown, to paste into an issue or notes. Pure.
#pragma once

#include <string>
#include <string_view>

#include "harness/reports/report.hh"
#include "harness/reports/tables.hh"

namespace thinpipe {

// Returns pipe tables (for GitHub and Pandoc): the runs and, below them, the means over seeds. Escapes
// labels, so that they appear as they are written.
std::string markdown_report(const Report& report);

// Returns a table as a pipe table: the first column aligned left, the others right.
std::string markdown_table(const Table& table);

// Escapes punctuation by backslashes, as CommonMark allows, and makes a cell one line. HTML, which Markdown passes
// through, becomes entities, because not every reader supports "\<".
std::string markdown_text(std::string_view text);

}  // namespace thinpipe
