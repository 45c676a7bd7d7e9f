// SPDX-License-Identifier: Apache-2.0
// The advice compared with recorded live runs: what would have been predicted from what was known before a run.
#pragma once

#include <filesystem>

#include "harness/advice/codec_costs.hh"
#include "harness/records/record.hh"

namespace thinpipe {

// Returns a row per completed live run of `results`; docs/how-to/advise.md defines the members. The compute time is
// that of the dense run that is the run's baseline in reports; a run without one, such as the only method of a sweep,
// has its own. Costs of encoding and decoding are of an idle core, times the workers that share one. A run that cannot be
// predicted has the reason instead. Throws InputError if there is no such run.
Json compare_with_records(const std::filesystem::path& results, const CodecCosts& costs,
                          const Warn& warn = warn_on_standard_error);

}  // namespace thinpipe
