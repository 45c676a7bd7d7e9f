// Accuracy and loss on the test set, shared out among the workers.
#pragma once

#include "trainer/collectives/collective.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {

struct Evaluation {
  double loss = 0;      // mean cross-entropy over the test set, in nats an example, or of text a byte
  double accuracy = 0;  // share of test examples, or of text bytes, whose largest logit is the label's
};

// Collective: worker r evaluates its contiguous N-th of the test set, and all get the same sums. Buffers
// (running statistics of normalisation layers), which training does not synchronise, first become rank 0's
// everywhere.
Evaluation evaluate(Model& model, const Dataset& dataset, Collective& collective);

// What evaluating makes a process do for the first time, at the price of a batch. By this worker alone.
void evaluate_one_batch(Model& model, const Dataset& dataset);

// The mean over all workers of quantities each has a sum and a count of; exact to 1e-6 of the sum, the same
// on every worker. Collective.
double mean_over_workers(double sum, std::int64_t count, Collective& collective);

}  // namespace thinpipe::trainer
