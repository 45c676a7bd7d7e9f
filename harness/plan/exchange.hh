// SPDX-License-Identifier: Apache-2.0
// Lower bound on the time that links take for the workers' exchange. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netem/topology/topology.hh"

namespace thinpipe {

struct ExchangePrediction {
  std::string link;                     // the direction that takes longest, "left->middle"
  double wire_bytes_per_iteration = 0;  // in this direction
  double time_s = 0;                    // lower bound per iteration, without overlap
};

// Bytes that each worker sends to the one `distance` ranks further in its group of `workers` consecutive ranks, whose
// first rank follows its last.
struct GroupShift {
  std::size_t workers = 1;
  std::size_t distance = 0;
  double bytes = 0;
};

// Bytes that one worker sends per iteration.
struct SentBytes {
  double around_ring = 0;            // in all-reduces, to the next rank
  double pairwise = 0;               // to all others, in equal parts
  double codes = 0;                  // number of codes in sums of codes (AllReduceCall::largest_code)
  std::int64_t largest_code = 1;     // of these codes
  double gathered = 0;               // in all-gathers to which all workers contribute equally
  double broadcast = 0;              // in broadcasts along a binomial tree, from each worker equally often
  std::vector<double> shifted = {};  // to the worker one rank further, two ranks further and so on
  std::vector<GroupShift> group_shifts = {};
};

// Returns the prediction for the slowest capped direction; nullopt if no capped link is on the way.
// `parents`: of the reduction tree that all-reduces, all-gathers and broadcasts use; empty if they use none.
// All workers together send as many bytes along a tree as without it, except that codes need fewer bits.
std::optional<ExchangePrediction> predict_exchange(const netem::Topology& topology, std::int64_t workers,
                                                   const SentBytes& sent,
                                                   const std::vector<int>& parents = {});

// Returns the bytes that each worker sends in an all-reduce of `bytes`, which goes around the ring twice.
double bytes_around_ring(double bytes, std::size_t workers);

// Returns the bytes that one worker sends, the mean over workers; `parents` as above.
double mean_sent_bytes(std::size_t workers, const SentBytes& sent, const std::vector<int>& parents);

}  // namespace thinpipe
