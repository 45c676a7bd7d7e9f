// SPDX-License-Identifier: Apache-2.0
// How codes that can be summed without decoding are exchanged: gathered with as few bits as each code takes,
// or summed. all_reduce_quantised sums in bytes or, along a tree, in as few bits as hold the sums. Both
// exchanges give the same sums.
#pragma once

#include <limits>
#include <string>

#include "common/protocol/call.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

// Returns the largest number of workers whose codes, at most `largest`, have sums that fit in an int8.
constexpr int max_workers_of_code_sums(int largest) {
  return std::numeric_limits<std::int8_t>::max() / largest;
}

// Returns whether sums load the network less than gathering codes of `gathered_bits` bits. Around a ring each
// worker sends 2 (N-1) / N bytes per code, or N-1 codes. Along a tree the busiest direction of an edge
// carries the sum of N-1 workers' codes, or all of these codes.
constexpr bool code_sums_are_smaller(const NetworkShape& network, int gathered_bits, int largest) {
  if (network.workers < 2 || network.workers > max_workers_of_code_sums(largest)) return false;
  const int others = network.workers - 1;
  if (network.sums_along_tree) return bits_of_code_sum(others, largest) < others * gathered_bits;
  return 2 * 8 < network.workers * gathered_bits;
}

// exchange: "auto", "all_gather" or "all_reduce".
inline bool sums_codes(const std::string& exchange, const NetworkShape& network, int gathered_bits) {
  if (exchange == "auto") return code_sums_are_smaller(network, gathered_bits, 1);
  return exchange == "all_reduce";
}

}  // namespace thinpipe::trainer
