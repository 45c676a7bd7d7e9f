// The report's rows, which compare runs: which of them reached the target, when and why. Pure.
#pragma once

#include <vector>

#include "harness/reports/digest.hh"

namespace thinpipe {

// Returns one row per record, in the given order; docs/report.md defines its members. Moves the rows out of
// the digests.
//
// The baselines of a run are the completed runs with the method "dense" (and "fp16") that differ from it only
// in method and pruning. Of several, the first unpruned one counts; if there is none, the last one with the
// same pruning.
//
// A speed-up is baseline time / own time. If the baseline never reached the target, its whole train time is
// used: "…_at_least" is then true and the speed-up is a lower bound. A speed-up is null if the run did not
// reach the target or has no baseline.
//
// Rows of runs that differ only in their seed have the same "group".
Json take_rows(std::vector<Digest>& digests);

}  // namespace thinpipe
