// The comparison that users came for: who reached the target, when, and why. Pure.
#pragma once

#include <optional>
#include <vector>

#include "harness/support/json_object.hh"
#include "harness/support/target.hh"

namespace thinpipe {

// Test accuracy at the last evaluation of a record's curve.
std::optional<double> final_accuracy(const Json& record);

// One row a record, in the given order; docs/report.md defines its members. `target`: whose time is reported;
// without one, the last of the record's own targets.
//
// Baselines are the completed runs with the synchroniser "dense" (and "fp16") that equal the row's run in all
// else but the pruning, which belongs to a method; of several, the unpruned one, then the one pruned alike. A
// speed-up is baseline time / own time. Where the baseline never reached the target its whole train time
// stands in: then "…_at_least" is true and the speed-up is a lower bound. It is null where the run did not
// reach the target or there is no baseline. Rows of runs that differ in their seed alone have the same
// "group".
Json make_rows(const std::vector<Json>& records, const std::optional<Target>& target = {});

}  // namespace thinpipe
