// SPDX-License-Identifier: Apache-2.0
// Statistics over a report's runs that differ only in their seed. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// Returns the meaning of the intervals of these groups, in every format of a report and in the figures and
// tables of plotting/. With few seeds they hold the true mean less often than 95 % of cases: it says how
// often.
std::string spread_note(const Json& groups);

// The meaning of the signs before a mean.
inline constexpr const char* bounds_note =
    "≥, ≤: bounds, without an interval: some of the runs, or of their baselines, did not reach the target and count with "
    "their whole train time; runs that failed are left out.";

// Returns the count n of the values, their mean, their standard deviation (n - 1 in the denominator) and the ends of the
// mean's 95 % confidence interval (bootstrap.hh). The last three are null for one value, all but the count for none.
Json summarise(const std::vector<double>& values);

// Returns the same of ratios: the geometric mean, the geometric standard deviation, which is a factor, and
// the interval of the geometric mean. So the summary of the inverse ratios is the inverse. `ratios` are above
// zero.
Json summarise_ratios(const std::vector<double>& ratios);

// Returns a row's label without the seed: the common name of runs that differ only in their seed.
std::string label_without_seed(const Json& row);

// Returns a name of the group that a row, or an entry of summarise_seeds, belongs to.
std::string seed_group_of(const Json& row);

// Returns one entry per group of rows (of take_rows) whose runs differ only in their seed, in the order of
// their first rows. A run without repetitions is a group of its own.
//
// All quantities are over completed runs, times and speed-ups over those that reached the target. "reached"
// is their number; if it is less than "runs", the mean covers only the lucky runs. The "restricted_…"
// quantities cover all completed runs: those that did not reach the target count with their whole run, so
// that the mean is a lower bound of the mean time and an upper bound of the mean speed-up. Each run's
// speed-up is over the baseline with its own seed, and a restricted one only over a baseline that reached the
// target. "…_is_lower_bound" is true if the baseline of a run that reached the target did not, because the
// mean speed-up is then one too; "…_is_upper_bound", if a run did not, whose baseline did: the restricted
// mean is then one. "failed", "judged", "degraded" and "not_judged" are numbers of runs; "judged" includes
// the degraded ones. "speed_up_…_fidelity" is the worst verdict on the networks of the runs and their
// baselines.
Json summarise_seeds(const Json& rows, const std::vector<std::string>& baselines = {"dense", "fp16"});

// Returns the groups with two or more runs.
Json with_several_runs(const Json& groups);

}  // namespace thinpipe
