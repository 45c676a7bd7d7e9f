// How codes that can be summed as they are travel: gathered in as few bits as each takes, or as sums, for
// which all_reduce_codes has a byte, or along a tree as few bits as hold them. Both give the same sums.
#pragma once

#include <limits>
#include <string>

#include "harness/replay/call.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

// Workers whose codes, none larger than `largest`, have sums within an int8.
constexpr int most_workers_of_code_sums(int largest) {
  return std::numeric_limits<std::int8_t>::max() / largest;
}

// Whether sums load the network less than gathering codes of so many bits. Around a ring each worker sends
// 2 (N-1) / N bytes a code, or N-1 codes; along a tree the busiest direction of an edge has the sum of N-1
// workers' codes, or all of them.
constexpr bool code_sums_are_smaller(const NetworkShape& network, int gathered_bits, int largest) {
  if (network.workers < 2 || network.workers > most_workers_of_code_sums(largest)) return false;
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
