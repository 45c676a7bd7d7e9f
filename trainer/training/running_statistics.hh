// SPDX-License-Identifier: Apache-2.0
// The running statistics of normalisation layers, which training does not synchronise, for an evaluation.
#pragma once

#include <functional>

#include "trainer/collectives/collective.hh"
#include "trainer/datasets/batch_loader.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {

enum class RunningStatistics {
  rank_0,  // as in DistributedDataParallel
  mean,    // over workers
};

// Overwrites all workers' buffers, the running statistics. Collective.
void share_running_statistics(Model& model, Collective& collective, RunningStatistics statistics);

inline constexpr std::int64_t estimation_batches = 64;

// Replaces this worker's running statistics by those of the model's present weights. After local steps the running ones
// belong to weights that no worker has any longer. Sees `estimation_batches` batches, load(0) and so on: with PyTorch's
// momentum of 0.1, 0.1 % of the former statistics remain. Leaves out batches that meet NaN. Does nothing without batch
// normalisation. The model is in training mode afterwards.
void estimate_running_statistics(Model& model, const std::function<Batch(std::int64_t)>& load);

}  // namespace thinpipe::trainer
