// What a run will put on the wire and how long its iterations will take, before anything runs. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/plan/run_plan.hh"

namespace thinpipe {

struct ExchangePrediction {
  std::string link;                     // the direction that takes longest, "left->middle"
  double wire_bytes_per_iteration = 0;  // across it
  double time_s = 0;                    // least time of that, per iteration, without any overlap
};

// What one worker sends an iteration.
struct SentBytes {
  double around_ring = 0;         // in all-reduces, to the next rank
  double pairwise = 0;            // to all others, in equal parts
  double codes = 0;               // besides: in sums of codes (AllReduceCall::largest_code)
  std::int64_t largest_code = 1;  // of them
  double gathered = 0;            // in all-gathers to which all contribute alike
  double broadcast = 0;           // in broadcasts, along a binomial tree, each worker being the root as often
  std::vector<double> shifted = {};  // to the worker one rank further, two ranks further and so on
};

// parents: of the tree along which all-reduces, all-gathers and broadcasts go; empty: they do not. All
// workers together send as much along a tree as otherwise, but for codes, which need fewer bits. Nothing
// where no capped link lies on the way.
std::optional<ExchangePrediction> predict_exchange(const netem::Topology& topology, std::int64_t workers,
                                                   const SentBytes& sent,
                                                   const std::vector<int>& parents = {});
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
