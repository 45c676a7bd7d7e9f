// Statistics over a report's runs that differ only in their seed. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// Returns the mean of n values, their standard deviation (n - 1 in the denominator) and half the width of the
// mean's 95 % confidence interval (Student's t). The last two are null for one value, all for none.
Json summarise(const std::vector<double>& values);

// Returns a row's label without the seed: the common name of runs that differ only in their seed.
std::string label_without_seed(const Json& row);

// Returns one entry per group of two or more rows (of take_rows) whose runs differ only in their seed, in the
// order of their first rows.
//
// Times and speed-ups are over the runs that reached the target. "reached" is their number; if it is less
// than "runs", the mean time covers only the lucky runs. Each run's speed-up is over the baseline with its
// own seed. "…_at_least" is true if any speed-up is a lower bound, because the mean is then one too.
// "degraded" is the number of runs with degraded emulation.
Json summarise_seeds(const Json& rows);

}  // namespace thinpipe
