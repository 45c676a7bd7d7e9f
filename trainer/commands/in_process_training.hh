// SPDX-License-Identifier: Apache-2.0
// A training run with all workers as threads of one process.
#pragma once

#include "common/protocol/worker_file.hh"
#include "trainer/training/training_loop.hh"

namespace thinpipe::trainer {

struct InProcessTraining {
  ConvergeFile file;
  TrainingConfig config;
};

// Calls `work` on each worker's thread, with its rank and the loop before the first step, which returns as
// TrainingLoop::run() does; then, if all succeeded, `finish` on the caller's thread, with what `work` returned on rank 0.
// Logs to standard error. Emits the events of a worker of rank 0 (worker.hh). Returns whether the run finished.
bool train_in_process(const InProcessTraining& training, const EventSink& events,
                      const std::function<std::optional<std::int64_t>(int rank, TrainingLoop& loop)>& work,
                      const std::function<void(std::optional<std::int64_t> stopped_after)>& finish);

}  // namespace thinpipe::trainer
