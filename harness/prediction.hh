// What a run will put on the wire and how long its iterations will take, before anything runs. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/run_plan.hh"

namespace thinpipe {

// Of TCP over Ethernet with full-size frames, the share that is payload: 1448 of 1514 bytes.
inline constexpr double goodput_share = 1448.0 / 1514.0;

struct ExchangePrediction {
  std::string link;                     // the direction that takes longest, "left->middle"
  double wire_bytes_per_iteration = 0;  // across it
  double time_s = 0;                    // least time of that, per iteration, without any overlap
};

// For collectives that send around a ring in rank order; nothing where no capped link lies on it.
std::optional<ExchangePrediction> predict_exchange(const netem::Topology& topology, std::int64_t workers,
                                                   double sent_bytes_per_iteration);

// How long an iteration takes in which computing takes compute_s, and exchanging the buckets exchange_s one
// after the other: each begins when its gradient is there and the one before is through. Backward takes two
// thirds of the computing, and gradients come in proportion to their bytes. At least one bucket.
double predict_iteration_s(const std::vector<double>& bucket_bytes, double compute_s, double exchange_s);

}  // namespace thinpipe
