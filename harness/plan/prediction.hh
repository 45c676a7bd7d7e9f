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
// sums of codes along a tree.
double sent_bytes_per_iteration(const Run& run);

// Returns the time of an iteration with compute_s of compute, if the exchange of all buckets takes
// exchange_s. Each bucket's exchange begins when its gradient is ready and the previous exchange has ended.
// The backward pass takes two thirds of the compute time, and gradients are ready in proportion to their
// bytes. There must be at least one bucket.
double predict_iteration_s(const std::vector<double>& bucket_bytes, double compute_s, double exchange_s);

// Returns {"exchange_time_s", "iteration_time_s"} for the record: the lower bound on the exchange time per
// iteration, and an iteration's time with this exchange and the measured compute, encoding and decoding. The
// communication thread encodes and decodes between exchanges. The second is null without `measured`
// (Measurements::iteration_time_s), or if the network changes.
Json describe_prediction(const Run& run, const Json& measured);

}  // namespace thinpipe
