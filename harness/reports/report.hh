// A report: each run, and what runs that differ in their seed alone say together.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/record.hh"
#include "harness/reports/rows.hh"
#include "harness/reports/seed_summary.hh"

namespace thinpipe {

struct Report {
  Json runs;                    // take_rows
  Json over_seeds;              // summarise_seeds of these
  std::vector<Digest> digests;  // of the same runs, without their rows
};

Report report_of(std::vector<Digest> digests);

// Of whole records.
Report make_report(const std::vector<Json>& records, const Wanted& wanted = {});

// The report of the records below `folder` (find_records), in the order of their start. Holds no more than a
// few of them at a time. Warns of each file that is no record, or one of a newer schema version, and leaves
// it out. Throws InputError if there is none.
Report report_of(const std::filesystem::path& folder, const Wanted& wanted = {},
                 const Warn& warn = warn_on_standard_error);

}  // namespace thinpipe
