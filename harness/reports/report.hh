// SPDX-License-Identifier: Apache-2.0
// A report: all runs, and statistics over runs that differ only in their seed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/records/record.hh"
#include "harness/reports/rows.hh"
#include "harness/reports/seed_summary.hh"

namespace thinpipe {

struct Report {
  Json runs;                    // from take_rows
  Json groups;                  // summarise_seeds(runs)
  std::vector<Digest> digests;  // of the same runs, without their rows
};

Report report_of(std::vector<Digest> digests, const std::vector<std::string>& over = {});

// Returns the report of whole records.
Report make_report(const std::vector<Record>& records, const Wanted& wanted = {});

// Returns the report of the records of `results` (find_records), in the order of their start times. Holds only
// a few records in memory at a time. Warns about those that are left out (read_records). Throws InputError if
// no record is left.
Report report_of(const std::filesystem::path& results, const Wanted& wanted = {},
                 const Warn& warn = warn_on_standard_error);

}  // namespace thinpipe
