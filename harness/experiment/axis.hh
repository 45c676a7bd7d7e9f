// SPDX-License-Identifier: Apache-2.0
// The axes of a sweep: the settings that vary from run to run.
//
//   "method": {"dense": {…patch…}, "topk 1 %": {…patch…}}     labels, each with a patch of the base
//   "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"]             values of a path
//   "pruning.ratio": {"from": 0.1, "to": 0.9, "step": 0.2}    a range of values (range_axis.hh)
//   "bottleneck.rate": {"from": "100 Mbit/s", "to": "1.6 Gbit/s", "factor": 2}
//   "model.width, training.batch_size_per_worker": [[8, 64], [16, 32]]
//                                                             values of several paths that vary together
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// One patch of the configuration and where it was written.
struct Layer {
  Json patch;
  Place place;
  // If `place` is the place of a single value: the keys of its path in `patch`.
  std::vector<std::string> keys = {};
};

struct Axis {
  std::string name;
  struct Value {
    std::string label;
    std::vector<Layer> layers;
  };
  std::vector<Value> values;
};

// Limit on the runs of a sweep, the values of a range and the repetitions; checked before any expansion.
inline constexpr std::size_t max_sweep_runs = 100000;

// Returns the axis that a member of "sweep" describes; labels keep the order of the file. Throws InputError.
Axis parse_axis(const std::string& name, const OrderedJson& values, const Place& place);

// Returns the axis "seed" with `count` values, from `first_seed` up.
Axis repetitions(std::size_t count, std::int64_t first_seed, const Place& place);

// Returns the label of a value that an axis sets: a string as it is, other values as JSON.
std::string value_label(const Json& value);

// Returns the keys of a dotted path, such as "bottleneck.rate". Throws InputError at `place`.
std::vector<std::string> path_keys(std::string_view dotted, const Place& place);

}  // namespace thinpipe
