// SPDX-License-Identifier: Apache-2.0
// Accuracy and loss on the test set, which is distributed over the workers.
#pragma once

#include "trainer/collectives/collective.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/models/model.hh"
#include "trainer/training/running_statistics.hh"

namespace thinpipe::trainer {

struct Evaluation {
  double loss = 0;  // mean cross-entropy over the test set, in nats per example; for text, per byte; or NaN
  double accuracy = 0;  // share of test examples (for text, of bytes) whose largest logit is the label's
};

// Evaluates the contiguous N-th part of worker r on worker r, and returns the same sums on all. Collective.
// First overwrites all workers' buffers, the running statistics.
Evaluation evaluate(Model& model, const Dataset& dataset, Collective& collective,
                    RunningStatistics statistics = RunningStatistics::rank_0);

// Returns how many examples are evaluated at a time: 500, or fewer if the logits or activations of so many
// would take too much memory.
std::int64_t evaluation_batch(const Dataset& dataset);

// One worker's part of an evaluation.
struct PartialEvaluation {
  double loss_sum = 0;       // of the cross-entropies, in nats
  std::int64_t correct = 0;  // number of labels that have the largest logit
};

// Evaluates the contiguous part of the test set that belongs to a rank. Does not communicate: the model's buffers
// must be the same on every worker. The model is in training mode afterwards.
PartialEvaluation evaluate_part(Model& model, const Dataset& dataset, std::int64_t rank,
                                std::int64_t world_size);

// Evaluates one batch on this worker alone, so that a later evaluation has no one-time costs.
void evaluate_one_batch(Model& model, const Dataset& dataset);

// Returns the mean over all workers of a quantity, of which each worker has a sum and a count. Exact to 1e-6
// of the sum, and the same on every worker; NaN if a worker's sum is not finite. Collective.
double mean_over_workers(double sum, std::int64_t count, Collective& collective);

}  // namespace thinpipe::trainer
