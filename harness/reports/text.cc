// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/text.hh"

#include <fmt/format.h>

#include "common/support/table.hh"
#include "harness/reports/tables.hh"
#include "harness/reports/verdicts.hh"

namespace thinpipe {
std::string text_table(const Table& table) {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows(table.rows.size());
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (!table.columns[column].for_terminals) continue;
    header.push_back(table.columns[column].heading);
    for (std::size_t row = 0; row < rows.size(); ++row) rows[row].push_back(table.rows[row][column].text);
  }
  return format_table(header, rows);
}

std::string text_report(const Report& report) {
  std::string out = text_table(without_empty_columns(runs_table(report.runs)));
  if (const Json repeated = with_several_runs(report.groups); !repeated.empty()) {
    const Table table = seeds_table(repeated);
    out += fmt::format("\n{}{}\n", text_table(without_empty_columns(table)), seeds_note(table, repeated));
  }
  if (const std::string note = marks_note(report.runs); !note.empty()) out += fmt::format("\n{}\n", note);
  for (const std::string& warning : warnings_of(report.runs)) out += fmt::format("\nWarning: {}\n", warning);
  return out;
}

}  // namespace thinpipe
