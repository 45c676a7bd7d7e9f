// The axes of a sweep: what varies from run to run.
//
//   "method": {"dense": {…patch…}, "topk 1 %": {…patch…}}     labels, each with a patch of the base
//   "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"]             values of a path
//   "pruning.ratio": {"from": 0.1, "to": 0.9, "step": 0.2}    the same, counted (range_axis.hh)
//   "bottleneck.rate": {"from": "100 Mbit/s", "to": "1.6 Gbit/s", "factor": 2}
//   "model.width, training.batch_size_per_worker": [[8, 64], [16, 32]]
//                                                             values of several paths that go together
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// One patch of the configuration and where it was written.
struct Layer {
  Json patch;
  Place place;
  std::vector<std::string> keys =
      {};  // the patch's own value lies below these; `place` is that value's place
};

struct Axis {
  std::string name;
  struct Value {
    std::string label;
    std::vector<Layer> layers;
  };
  std::vector<Value> values;
};

// A sweep larger than this is refused before it is expanded, and so is an axis.
inline constexpr std::size_t largest_sweep = 100000;

// The axis that a member of "sweep" describes; labels keep the order of the file. Throws InputError.
Axis parse_axis(const std::string& name, const OrderedJson& values, const Place& place);

// `count` runs that differ in "seed" alone, from `first_seed` on: the axis "seed".
Axis repetitions(std::size_t count, std::int64_t first_seed, const Place& place);

// The label of a value that an axis sets: a string as it is, others as JSON.
std::string value_label(const Json& value);

// The keys of a dotted path, such as "bottleneck.rate". Throws InputError at `place`.
std::vector<std::string> path_keys(std::string_view dotted, const Place& place);

}  // namespace thinpipe
