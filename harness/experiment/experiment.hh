// SPDX-License-Identifier: Apache-2.0
// An experiment file: a base configuration and the axes of a sweep. Pure, except load_experiment().
//
//   { "name": "quickstart", "description": "…",
//     "base": { …configuration of a run… },
//     "sweep": { "method": {"dense": {…patch…}, "topk 1 %": {…patch…}},        labels, each with a patch
//                "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"] },              values of a dotted path
//     "exclude": [{"method": "dense", "bottleneck.rate": ["1 Gbit/s"]}],       points to leave out, by labels
//     "repeat": 3,                                                             seeds per point
//     "executor": {"name": "slurm", "partition": "cpu"} }                      what executes the runs
//
// Points are the Cartesian product of the axes in file order; later axes vary fastest. All kinds of axes are
// in harness/experiment/axis.hh. Seeds count up from the base's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/support/json_object.hh"
#include "harness/experiment/axis.hh"
#include "harness/experiment/executor_options.hh"
#include "harness/experiment/override.hh"

namespace thinpipe {

// For each named axis, some of its labels. A point is left out if its label is among them on all these axes.
using Exclusion = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct Experiment {
  std::string name;
  std::string description;
  std::string file;
  Layer base;
  std::vector<Layer> overrides;  // from --set; between base and sweep
  std::vector<Axis> axes;        // the one of "repeat" last
  std::vector<Exclusion> exclusions;
  ExecutorOptions executor;
};

using Labels = std::vector<std::pair<std::string, std::string>>;  // axis name, value's label

// Returns the labels' values joined with ", "; "base" if there are none.
std::string label_of(const Labels& labels);

// One run as the user described it, before defaults are filled in.
struct Point {
  Labels labels;
  std::vector<std::shared_ptr<const Layer>> layers;  // in order of application; shared by points

  std::string label() const { return label_of(labels); }
  // Merges the layers. It does so at each call, so that a sweep need not hold all configurations at once.
  Json config() const;
  // Returns where the user wrote the value at `pointer` of the merged configuration.
  Place place_of(std::string_view pointer) const;
};

// Parses an experiment. `file` names the text in errors; its stem is the default name. `overrides` are the
// "path=value" of --set; `is_text` types them (harness/experiment/override.hh). `repeat`, of --repeat, replaces the
// experiment's own. Throws InputError.
Experiment parse_experiment(std::string_view text, const std::string& file,
                            const std::vector<std::string>& overrides = {}, const IsText& is_text = {},
                            std::optional<std::int64_t> repeat = {});
// Loads an experiment file.
Experiment load_experiment(const std::string& file, const std::vector<std::string>& overrides,
                           const IsText& is_text, std::optional<std::int64_t> repeat = {});

// Returns the points of the sweep. Throws InputError if there are more than `max_sweep_runs`, or none.
std::vector<Point> expand(const Experiment& experiment);

}  // namespace thinpipe
