// SPDX-License-Identifier: Apache-2.0
// Statistics over a report's runs that differ only in their seed. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// The meaning of intervals in every format of a report, and in the figures and tables of plotting/.
inline constexpr const char* spread_note =
    "[low, high]: 95 % confidence interval of the mean over seeds (bootstrap, percentiles). ≥: some runs did not reach "
    "the target; they count with their whole train time. Speed-ups cover the runs that reached it.";

// Returns the count n of the values, their mean, their standard deviation (n - 1 in the denominator) and the ends of the
// mean's 95 % confidence interval (bootstrap.hh). The last three are null for one value, all but the count for none.
Json summarise(const std::vector<double>& values);

// Returns a row's label without the seed: the common name of runs that differ only in their seed.
std::string label_without_seed(const Json& row);

// Returns a name of the group that a row, or an entry of summarise_seeds, belongs to.
std::string seed_group_of(const Json& row);

// Returns one entry per group of rows (of take_rows) whose runs differ only in their seed, in the order of
// their first rows. A run without repetitions is a group of its own.
//
// All quantities are over completed runs, times and speed-ups over those that reached the target. "reached" is
// their number; if it is less than "runs", the mean time covers only the lucky runs. The "restricted_…" times cover all
// completed runs: those that did not reach the target count with their whole train time, so that the mean is a lower
// bound of the mean time. Each run's speed-up is
// over the baseline with its own seed. "…_is_lower_bound" is true if any speed-up is a lower bound, because the mean
// is then one too. "judged", "degraded" and "not_judged" are numbers of runs; "judged" includes the degraded ones.
// "speed_up_…_fidelity" is the worst verdict on the networks of the runs and their baselines.
Json summarise_seeds(const Json& rows, const std::vector<std::string>& baselines = {"dense", "fp16"});

// Returns the groups with two or more runs.
Json with_several_runs(const Json& groups);

}  // namespace thinpipe
