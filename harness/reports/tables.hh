// A report's numbers as cells for people, the same in every format that has tables. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/reports/report.hh"

namespace thinpipe {

struct Cell {
  std::string text;
  std::optional<double> value = {};  // what to sort by; the text where there is none
};

struct Column {
  std::string heading;
  std::string meaning;        // in a line
  bool for_terminals = true;  // shown where room is scarce
};

struct Table {
  std::vector<Column> columns;  // the first says what a row is of
  std::vector<std::vector<Cell>> rows;
};

// One row a run.
Table runs_table(const Json& rows);

// One row a group of runs that differ in their seed alone: means with 95 % confidence intervals.
Table seeds_table(const Json& entries);

// The table without the columns in which no row has a value.
Table without_empty_columns(const Table& table);

// Whether rows of several experiments are together; then labels alone do not tell them apart.
bool several_experiments(const Json& rows);

// What a row, or an entry over seeds, is called.
std::string name_of(const Json& row, bool with_experiment);

// What `target` of a row or entry is called: "0.84", "bits_per_byte 2.2", "-".
std::string target_text(const Json& row);

// "faithful", "degraded, links changed"; "-" where no network was emulated.
std::string fidelity_text(const Json& row);

}  // namespace thinpipe
