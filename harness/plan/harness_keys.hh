// The keys of a run's configuration that are the harness's own; the others are the trainer's. A new one is
// described here, which makes it known to the schema of experiments, to --set and to messages about unknown
// keys, and read in harness/plan/run_plan.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/support/options.hh"

namespace thinpipe {

// Member "compute_profile" of an experiment, where it is an object.
struct EstimateOptions {
  std::string device;
  std::optional<std::int64_t> batch_size_per_worker;

  void visit(auto& field) {
    field("device", device,
          Rule{.effect = "a shipped device by its name, or the path of a .json file", .required = true});
    field("batch_size_per_worker", batch_size_per_worker,
          Rule{.effect = "examples that computing is estimated for; null: the training's. What is "
                         "exchanged does not depend on it, so a small training can stand for one that this "
                         "machine has no memory for",
               .at_least = 1});
  }
};

// An entry for each key, as those of describe_options (common/support/options.hh); those of a list's
// elements may have a "constraint", a JSON Schema that holds for an element on top.
Json describe_harness_keys();

const std::vector<std::string>& harness_keys();

}  // namespace thinpipe
