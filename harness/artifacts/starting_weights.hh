// The briefly pre-trained weights that the runs of an experiment start from: made once for each distinct
// model, data set, pre-training and seed, and kept in <experiment's results>/starting-weights/.
#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "harness/artifacts/made_once.hh"
#include "harness/executors/time_limits.hh"
#include "harness/plan/run.hh"

namespace thinpipe {

class StartingWeights {
 public:
  // `fresh`: make them anew, once, even where they are kept from earlier.
  StartingWeights(std::filesystem::path folder, bool fresh, StopSignals& stop)
      : weights_(std::move(folder), "starting weights", fresh, stop) {}

  // {"path", "hash" (of the file), "test_accuracy"} of the pre-trained weights, or without pre-training of
  // the file of weights that the configuration names, whose accuracy is not known; null where it names none;
  // or the outcome of a pre-training that did not complete. Waits for another controller that is making them.
  std::variant<Json, Outcome> obtain(const Run& run, Executor& executor, Progress& progress,
                                     const TimeLimits& limits);

 private:
  MadeOnce weights_;
};

}  // namespace thinpipe
