// SPDX-License-Identifier: Apache-2.0
// The report's rows, which compare runs: which of them reached the target, when and why. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/reports/digest.hh"

namespace thinpipe {

// Returns one row per record, in the given order; docs/reference/report.md defines its members. Moves the rows out of
// the digests.
//
// The baselines of a run are the completed runs with the method "dense" (and "fp16") that differ from it only
// in method and pruning. Of several, the first unpruned one counts; if there is none, the last one with the
// same pruning. If there is none either, the run with the same labels except the method counts, even if its
// optimiser differs: a method may need its own.
// Each of `over` is a further baseline: the label of a method of the sweep. It may differ in anything but the
// experiment, mode, seed and the labels of other axes. Throws InputError if no run has the label.
//
// A speed-up is baseline time / own time; "convergence_speed_…" is the same ratio of iterations,
// "speed_up_…_with_set_up" that of the times with set-up, null if one is unknown, and "relative_time_…" is
// own time / baseline time. They are null if the run did not reach the target or has no baseline. If the
// baseline never reached it, its whole run is used: "…_is_lower_bound" is then true and the speed-ups are
// lower bounds. "restricted_…" are the same ratios over baselines that reached the target. A completed run
// that did not reach it counts with its whole run: its speed-up is an upper bound. "…_is_upper_bound" is true
// for it, and for a run that did not complete. "speed_up_…_fidelity" is the worse verdict on the two
// networks.
//
// A row warns of a baseline that another machine or commit measured.
//
// Rows of runs that differ only in their seed have the same "group".
Json take_rows(std::vector<Digest>& digests, const std::vector<std::string>& over = {});

// Returns the names of all baselines: "dense", "fp16" and those of `over` that are neither.
std::vector<std::string> baseline_names(const std::vector<std::string>& over);

}  // namespace thinpipe
