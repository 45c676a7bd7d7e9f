// What a report's runs say together that differ in their seed alone. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/support/json_object.hh"

namespace thinpipe {

// Of n values: their mean, their standard deviation (n - 1 in the denominator) and half the width of the
// mean's 95 % confidence interval by Student's t; the last two are null for one value, all for none.
Json summarise(const std::vector<double>& values);

// A row's label without the seed's part of it: what runs that differ in their seed alone are called together.
std::string label_without_seed(const Json& row);

// One entry for each group of rows (of make_rows) whose runs differ in their seed alone, and are two or
// more, in the order of their first rows. Times and speed-ups are over the runs that reached the target, of
// which "reached" tells the number: where it is less than "runs", the mean time is that of the lucky ones.
// Speed-ups are of each run over the baseline with its own seed; "…_at_least" where one of them is a lower
// bound, which makes the mean one too. "degraded" is the number of runs whose emulation was.
Json summarise_seeds(const Json& rows);

}  // namespace thinpipe
