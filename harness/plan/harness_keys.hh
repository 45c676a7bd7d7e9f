// The keys of a run's configuration that the harness reads; the trainer reads the others. Describe a new key
// here and read it in run_reading.cc: the schema of experiments, --set and messages about unknown keys follow
// from the description.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/support/options.hh"

namespace thinpipe {

// Member "compute_profile" of an experiment, if it is an object.
struct EstimateOptions {
  std::string device;
  std::optional<std::int64_t> batch_size_per_worker;

  void visit(auto& field) {
    field("device", device,
          Rule{.effect = "name of a shipped device, or path of a .json file", .required = true});
    field("batch_size_per_worker", batch_size_per_worker,
          Rule{.effect = "batch size for which the compute time is estimated; null: that of the training "
                         "run. The exchange does not depend on it, so a training run with small batches can "
                         "stand for one that does not fit into this machine's memory",
               .at_least = 1});
  }
};

// Returns an entry per key, like describe_options (common/support/options.hh). Entries of a list's elements
// may also have a "constraint", a further JSON Schema for an element.
Json describe_harness_keys();

const std::vector<std::string>& harness_keys();

}  // namespace thinpipe
