// A report: each run, and what runs that differ in their seed alone say together. Pure.
#pragma once

#include <optional>
#include <vector>

#include "harness/reports/rows.hh"
#include "harness/reports/seed_summary.hh"

namespace thinpipe {

struct Report {
  Json runs;        // make_rows
  Json over_seeds;  // summarise_seeds of these
};

inline Report make_report(const std::vector<Json>& records, const std::optional<Target>& target = {}) {
  Json rows = make_rows(records, target);
  Json over_seeds = summarise_seeds(rows);
  return {.runs = std::move(rows), .over_seeds = std::move(over_seeds)};
}

}  // namespace thinpipe
