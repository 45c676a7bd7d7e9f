// What a report's runs say together that differ in their seed alone. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/support/json_object.hh"

namespace thinpipe {

// Of n values: their mean, their standard deviation (n - 1 in the denominator) and half the width of the
// mean's 95 % confidence interval by Student's t; the last two are null for one value, all for none.
Json summarise(const std::vector<double>& values);

// One entry for each group of rows (of make_report) whose runs differ in their seed alone, and are two or
// more, in the order of their first rows. Times and speed-ups are over the runs that reached the target, of
// which "reached" tells the number: where it is less than "runs", the mean time is that of the lucky ones.
// Speed-ups are of each run over the baseline with its own seed.
Json summarise_seeds(const Json& rows);

// The entries as a table, after an empty line; nothing where there are none.
std::string format_seed_summary(const Json& entries);

}  // namespace thinpipe
