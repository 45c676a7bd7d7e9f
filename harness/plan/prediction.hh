// What a run will put on the wire and how long its iterations will take, before anything runs. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/plan/exchange.hh"
#include "harness/plan/run.hh"

namespace thinpipe {

std::optional<ExchangePrediction> predict_exchange(const Run& run);

// What one worker sends an iteration, the mean over workers: the plan's, but for sums of codes along a tree.
double sent_bytes_per_iteration(const Run& run);

// How long an iteration takes in which computing takes compute_s, and exchanging the buckets exchange_s one
// after the other: each begins when its gradient is there and the one before is through. Backward takes two
// thirds of the computing, and gradients come in proportion to their bytes. At least one bucket.
double predict_iteration_s(const std::vector<double>& bucket_bytes, double compute_s, double exchange_s);

// For the record: {"exchange_time_s", "iteration_time_s"}, the least time of an iteration's exchange, and
// what an iteration would take with it, the computing there was, and the encoding and decoding, which the
// communication thread does between exchanges: null without `measured` (Measurements::iteration_time_s), or
// where the network changes.
Json describe_prediction(const Run& run, const Json& measured);

}  // namespace thinpipe
