// SPDX-License-Identifier: Apache-2.0
// Predictions before a run starts: bytes on the wire and time per iteration. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/plan/exchange.hh"
#include "harness/plan/run.hh"

namespace thinpipe {

std::optional<ExchangePrediction> predict_exchange(const Run& run);

// Returns the bytes that one worker sends per iteration, the mean over workers: those of the plan, except for
// sums of codes along a tree, which take fewer bits (in NCCL's tree, bytes).
double sent_bytes_per_iteration(const Run& run);

// Returns the time of an iteration with compute_s of compute, if the exchange of all buckets takes
// exchange_s. Each bucket's exchange begins when its gradient is ready and the previous exchange has ended.
// The backward pass takes two thirds of the compute time, and gradients are ready in proportion to their
// bytes. There must be at least one bucket.
double predict_iteration_s(const std::vector<double>& bucket_bytes, double compute_s, double exchange_s);

// The same for the plan of a run (docs/reference/records.md, plan). If exchanges overlap with later iterations, all
// compute of these hides them, and what is left is spread over the iterations from one exchange to the next.
double predict_iteration_s(const Json& plan, double compute_s, double exchange_s);

// The mean measured times of an iteration's own work.
struct MeasuredWork {
  double load_s = 0;
  double compute_s = 0;
  double encode_s = 0;
  double decode_s = 0;
};

// Returns the lower bound on the exchange time per iteration, provided that no sparse entry is common to several
// workers; nullopt for an external trainer with its own method, and over a real network.
std::optional<double> predict_exchange_s(const Run& run);

// Returns an iteration's time with this exchange and the measured work. The communication thread encodes and
// decodes between exchanges. nullopt if there is no such exchange, or if the network changes.
std::optional<double> predict_iteration_s(const Run& run, const MeasuredWork& measured);

}  // namespace thinpipe
