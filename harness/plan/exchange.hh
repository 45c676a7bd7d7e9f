// How long links take for what workers send each other, in the least. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netem/topology/topology.hh"

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

// What each worker sends in an all-reduce of that many bytes, once around the ring and once more.
double bytes_around_ring(double bytes, std::size_t workers);

// What one worker sends, the mean over workers; parents: as above.
double mean_sent_bytes(std::size_t workers, const SentBytes& sent, const std::vector<int>& parents);

}  // namespace thinpipe
