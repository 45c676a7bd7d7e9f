// The keys of a run's configuration that are the harness's own; the others are the trainer's. A new one is
// described here, which makes it known to the schema of experiments, to --set and to messages about unknown
// keys, and read in harness/run_plan.cc.
#pragma once

#include <string>
#include <vector>

#include "harness/support/json_object.hh"

namespace thinpipe {

// An entry for each key, as those of describe_options (harness/support/options.hh); those of a list's
// elements may have a "constraint", a JSON Schema that holds for an element on top.
Json describe_harness_keys();

const std::vector<std::string>& harness_keys();

}  // namespace thinpipe
