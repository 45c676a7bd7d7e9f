// A training with all workers as threads of one process.
#pragma once

#include "trainer/training_loop.hh"

namespace thinpipe::trainer {

struct InProcessTraining {
  std::optional<std::string> starting_weights;  // path
  std::string log_level = "info";
  TrainingConfig config;
  std::vector<int> parents;  // of the tree that sums go along; empty: in rank order
};

// The members of an input file that every such training has. Throws InputError.
void read_training(JsonObject& object, InProcessTraining& training);

// `work` is called on each worker's thread, with its rank and the loop at the first step; then, if all is
// well, `finish` on this one. Logs to standard error. Events are those that a worker of rank 0 has
// (worker.hh). Returns whether it finished.
bool train_in_process(const InProcessTraining& training, const EventSink& events,
                      const std::function<void(int rank, TrainingLoop& loop)>& work,
                      const std::function<void()>& finish);

}  // namespace thinpipe::trainer
