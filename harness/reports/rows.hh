// The comparison that users came for: who reached the target, when, and why. Pure.
#pragma once

#include <vector>

#include "harness/reports/digest.hh"

namespace thinpipe {

// One row a record, in the given order; docs/report.md defines its members. Takes the digests' rows.
//
// Baselines are the completed runs with the method "dense" (and "fp16") that equal the row's run in all else
// but the pruning, which belongs to a method; of several, the first unpruned one, then the last one that is
// pruned alike. A speed-up is baseline time / own time. Where the baseline never reached the target its whole
// train time stands in: then "…_at_least" is true and the speed-up is a lower bound. It is null where the run
// did not reach the target or there is no baseline. Rows of runs that differ in their seed alone have the
// same "group".
Json take_rows(std::vector<Digest>& digests);

}  // namespace thinpipe
