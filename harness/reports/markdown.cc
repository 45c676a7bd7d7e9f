// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/markdown.hh"

#include <string_view>

#include <fmt/format.h>

#include "harness/reports/tables.hh"
#include "harness/reports/verdicts.hh"

namespace thinpipe {
namespace {

// Escapes punctuation by backslashes, as CommonMark allows, and makes a cell one line. HTML, which Markdown
// passes through, becomes entities, because not every reader supports "\<".
std::string in_markdown(std::string_view text) {
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

std::string line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

// Aligns the first column left and the others right.
std::string pipe_table(const Table& table) {
  std::vector<std::string> header;
  for (const Column& column : table.columns) header.push_back(in_markdown(column.heading));
  std::vector<std::string> rule(table.columns.size(), "---:");
  rule.front() = ":---";
  std::string out = line(header) + line(rule);
  for (const std::vector<Cell>& row : table.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(in_markdown(cell.text));
    out += line(cells);
  }
  return out;
}

}  // namespace

std::string markdown_report(const Report& report) {
  std::string out = pipe_table(runs_table(report.runs));
  if (const Json repeated = with_several_runs(report.groups); !repeated.empty()) {
    out += fmt::format("\n{}\n{}\n", pipe_table(seeds_table(repeated)), spread_note);
  }
  if (const std::string note = marks_note(report.runs); !note.empty()) out += fmt::format("\n{}\n", note);
  for (const std::string& warning : warnings_of(report.runs))
    out += fmt::format("\nWarning: {}\n", in_markdown(warning));
  return out;
}

}  // namespace thinpipe
