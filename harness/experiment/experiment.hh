// An experiment file: a base configuration and the axes to sweep. Pure: reads nothing but the text it is
// given.
//
//   { "name": "quickstart", "description": "…",
//     "base": { …configuration of a run… },
//     "sweep": { "method": {"dense": {…patch…}, "topk 1 %": {…patch…}},        labels, each with a patch
//                "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"] } }             values of a dotted path
//
//
// Points are the Cartesian product in file order; later axes vary fastest (harness/experiment/axis.hh has all kinds of
// them). "exclude": [{"method": "dense", "bottleneck.rate": ["1 Gbit/s"]}] leaves points out, by their
// labels; "repeat": 3 runs each point with three seeds, from the base's on.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/support/json_object.hh"
#include "harness/experiment/axis.hh"

namespace thinpipe {

// Points whose labels are among these are left out: by axis, the labels that are meant.
using Exclusion = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct Experiment {
  std::string name;
  std::string description;
  std::string file;
  Layer base;
  std::vector<Layer> overrides;  // from --set, over the base and under the sweep
  std::vector<Axis> axes;        // that of "repeat" last
  std::vector<Exclusion> exclusions;
};

using Labels = std::vector<std::pair<std::string, std::string>>;  // axis name, value's label

// The labels' values joined with ", "; "base" where there are none.
std::string label_of(const Labels& labels);

// One run as the user described it, before defaults are filled in.
struct Point {
  Labels labels;
  std::vector<std::shared_ptr<const Layer>> layers;  // in the order they apply; points share them

  std::string label() const { return label_of(labels); }
  // The layers, merged anew at each call: a sweep need not hold all its configurations at once.
  Json config() const;
  // Where the user wrote what is found at `pointer` of the merged configuration.
  Place place_of(std::string_view pointer) const;
};

// `file` names the text in errors; its stem is the default name. `overrides` are --set's "path=value", typed
// by the schema of experiments (harness/experiment/override.hh). Throws InputError.
Experiment parse_experiment(std::string_view text, const std::string& file,
                            const std::vector<std::string>& overrides = {}, const Json& schema = nullptr);
// With the published schema.
Experiment load_experiment(const std::string& file, const std::vector<std::string>& overrides = {});

// Throws InputError when there are more than `largest_sweep`, before it makes them, or when none is left.
std::vector<Point> expand(const Experiment& experiment);

}  // namespace thinpipe
