// A training run with all workers as threads of one process.
#pragma once

#include "trainer/training/training_loop.hh"

namespace thinpipe::trainer {

struct InProcessTraining {
  std::optional<std::string> starting_weights;  // path
  std::string log_level = "info";
  TrainingConfig config;
  std::vector<int> parents;  // of the reduction tree; empty: in rank order
};

// Reads the members that every input file of such a run has. Throws InputError.
void read_training(JsonObject& object, InProcessTraining& training);

// Calls `work` on each worker's thread, with its rank and the loop before the first step; then, if all
// succeeded, `finish` on the caller's thread. Logs to standard error. Emits the events of a worker of rank 0
// (worker.hh). Returns whether the run finished.
bool train_in_process(const InProcessTraining& training, const EventSink& events,
                      const std::function<void(int rank, TrainingLoop& loop)>& work,
                      const std::function<void()>& finish);

}  // namespace thinpipe::trainer
