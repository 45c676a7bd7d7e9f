// SPDX-License-Identifier: Apache-2.0
// The briefly pre-trained weights from which the runs of an experiment start: trained once for each distinct
// model, data set, pre-training and seed, and kept in <experiment's results>/initial-weights/.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "harness/artifacts/artifact_cache.hh"
#include "harness/executors/time_limits.hh"
#include "harness/plan/run.hh"
#include "harness/records/record_data.hh"

namespace thinpipe {

struct SharedWeights {
  std::string file = {};              // absolute
  record::InitialWeights about = {};  // its path is relative to the experiment's results, if it is there
  std::optional<double> train_time_s = {};
};

class InitialWeights {
 public:
  // `since`: train those again that were trained before.
  InitialWeights(std::filesystem::path folder, ArtifactCache::Since since, StopSignals& stop)
      : weights_(std::move(folder), "initial weights", since, stop) {}

  // Returns the pre-trained weights, or the outcome of a pre-training that did not complete. Without pre-training,
  // returns the file of weights that the configuration names, with unknown accuracy and time, or nullopt if it names
  // none. Waits for another controller that is training them.
  std::variant<std::optional<SharedWeights>, Outcome> get_or_build(const Run& run, Executor& executor,
                                                                   Progress& progress,
                                                                   const TimeLimits& limits);

  // Returns the file for which get_or_build() would have to train; nullopt if there are such weights, or the run has
  // no pre-training.
  std::optional<std::filesystem::path> missing(const Run& run) const;

 private:
  ArtifactCache weights_;
};

}  // namespace thinpipe
