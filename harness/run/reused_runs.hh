// SPDX-License-Identifier: Apache-2.0
// Runs that another experiment has executed already. Equal ids mean equal configurations, so one run serves both.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/plan/run.hh"

namespace thinpipe {

// Copies the runs that have no record in `results` yet from `others`, another experiment's folder of results, with all
// their files and the weights they began with. Only those that completed, whose network was not degraded and whose
// curve was read with the same "hold". A copy has this experiment's name and labels; its provenance stays that of the
// run. Returns how many it copied. Throws InputError if `others` has no runs, and an exception naming the file if one
// cannot be copied.
std::size_t reuse_runs(const std::vector<Run>& runs, const std::filesystem::path& others,
                       const std::filesystem::path& results, const std::string& experiment);

}  // namespace thinpipe
