// The briefly pre-trained weights from which the runs of an experiment start: trained once for each distinct
// model, data set, pre-training and seed, and kept in <experiment's results>/initial-weights/.
#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "harness/artifacts/artifact_cache.hh"
#include "harness/executors/time_limits.hh"
#include "harness/plan/run.hh"

namespace thinpipe {

class InitialWeights {
 public:
  // `fresh`: train them again, once, even if they are kept.
  InitialWeights(std::filesystem::path folder, bool fresh, StopSignals& stop)
      : weights_(std::move(folder), "initial weights", fresh, stop) {}

  // Returns {"path", "hash" (of the file), "test_accuracy"} of the pre-trained weights, or the outcome of a
  // pre-training that did not complete. Without pre-training, describes the file of weights that the
  // configuration names, with unknown accuracy, or returns null if it names none. Waits for another
  // controller that is training them.
  std::variant<Json, Outcome> get_or_build(const Run& run, Executor& executor, Progress& progress,
                                           const TimeLimits& limits);

 private:
  ArtifactCache weights_;
};

}  // namespace thinpipe
