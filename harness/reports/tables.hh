// SPDX-License-Identifier: Apache-2.0
// A report's numbers as cells for people, the same in every format with tables. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/reports/report.hh"

namespace thinpipe {

// The signs of bounds, at the beginning of a cell's text.
inline constexpr std::string_view at_least = "≥ ";
inline constexpr std::string_view at_most = "≤ ";

struct Cell {
  std::string text;
  std::optional<double> value = {};  // the sort key; nullopt: the text
};

struct Column {
  std::string heading;
  std::string meaning;        // one line
  bool for_terminals = true;  // whether a terminal, which has little room, shows it
};

struct Table {
  std::vector<Column> columns;  // the first has the rows' names
  std::vector<std::vector<Cell>> rows;
};

// Returns one row per run.
Table runs_table(const Json& rows);

// Returns one row per group of runs that differ only in their seed: means with 95 % confidence intervals.
Table seeds_table(const Json& entries);

// Returns what stands below it: the meaning of intervals and, if it has some, of the signs of bounds.
std::string seeds_note(const Table& table, const Json& entries);

// Returns the table without the columns in which no row has a value.
Table without_empty_columns(const Table& table);

// Returns whether the rows come from several experiments, so that labels alone are ambiguous.
bool several_experiments(const Json& rows);

// Returns the name of a row or of an entry over seeds.
std::string name_of(const Json& row, bool with_experiment);

// Returns a line per warning, which names the first run that has it and counts the others.
std::vector<std::string> warnings_of(const Json& rows);

// Returns the target of a row or entry as text: "0.84", "bits_per_byte 2.2", "-".
std::string target_text(const Json& row);

// Returns "faithful", "degraded" or "not judged", perhaps with ", links changed"; "-" if no network was emulated.
std::string fidelity_text(const Json& row);

}  // namespace thinpipe
