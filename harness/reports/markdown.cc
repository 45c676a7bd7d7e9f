// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/markdown.hh"

#include <string_view>

#include <fmt/format.h>

#include "harness/reports/tables.hh"
#include "harness/reports/verdicts.hh"

namespace thinpipe {

std::string markdown_text(std::string_view text) {
  constexpr std::string_view special = R"(\`*_{}[]()#!|~$)";
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '\n':
      case '\r':
        out += ' ';
        break;
      default:
        out += c;
    }
  }
  return out;
}

namespace {

std::string line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace

std::string markdown_table(const Table& table) {
  std::vector<std::string> header;
  for (const Column& column : table.columns) header.push_back(markdown_text(column.heading));
  std::vector<std::string> rule(table.columns.size(), "---:");
  rule.front() = ":---";
  std::string out = line(header) + line(rule);
  for (const std::vector<Cell>& row : table.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(markdown_text(cell.text));
    out += line(cells);
  }
  return out;
}

std::string markdown_report(const Report& report) {
  std::string out = markdown_table(runs_table(report.runs));
  if (const Json repeated = with_several_runs(report.groups); !repeated.empty()) {
    const Table table = seeds_table(repeated);
    out += fmt::format("\n{}\n{}\n", markdown_table(table), seeds_note(table, repeated));
  }
  if (const std::string note = marks_note(report.runs); !note.empty()) out += fmt::format("\n{}\n", note);
  for (const std::string& warning : warnings_of(report.runs))
    out += fmt::format("\nWarning: {}\n", markdown_text(warning));
  return out;
}

}  // namespace thinpipe
