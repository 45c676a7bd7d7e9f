// An experiment file: a base configuration and the axes to sweep. Pure: reads nothing but the text it is
// given.
//
//   { "name": "quickstart", "description": "…",
//     "base": { …configuration of a run… },
//     "sweep": { "method": {"dense": {…patch…}, "topk 1 %": {…patch…}},        labels, each with a patch
//                "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"] } }             values of a dotted path
//
// Points are the Cartesian product in file order; later axes vary fastest.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/support/json_object.hh"

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
    Layer layer;
  };
  std::vector<Value> values;
};

struct Experiment {
  std::string name;
  std::string description;
  std::string file;
  Layer base;
  std::vector<Layer> overrides;  // from --set, over the base and under the sweep
  std::vector<Axis> axes;
};

using Labels = std::vector<std::pair<std::string, std::string>>;  // axis name, value's label

// One run as the user described it, before defaults are filled in.
struct Point {
  Labels labels;
  Json config;
  std::vector<Layer> layers;  // in the order they were applied

  // The labels' values joined with ", "; "base" for an experiment without axes.
  std::string label() const;
  // Where the user wrote what is found at `pointer` of the merged configuration.
  Place place_of(std::string_view pointer) const;
};

// `file` names the text in errors; its stem is the default name. `overrides` are --set's "path=value", the
// value being JSON or else a string. Throws InputError.
Experiment parse_experiment(std::string_view text, const std::string& file,
                            const std::vector<std::string>& overrides = {});
Experiment load_experiment(const std::string& file, const std::vector<std::string>& overrides = {});

// A sweep larger than this is refused before it is expanded.
inline constexpr std::size_t largest_sweep = 100000;

std::vector<Point> expand(const Experiment& experiment);

}  // namespace thinpipe
