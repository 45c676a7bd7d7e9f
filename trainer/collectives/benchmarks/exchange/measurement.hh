// SPDX-License-Identifier: Apache-2.0
// The time and the traffic of one way to sum a vector.
#pragma once

#include <string>
#include <vector>

#include "netem/network.hh"
#include "trainer/collectives/benchmarks/exchange/workers.hh"

namespace thinpipe {

struct Measurement {
  double time_s = 0;  // from the last worker's begin to the last one's end; the median over repetitions
  double machine_busy_s = 0;  // the whole machine's CPU time over all repetitions
  std::string library;
  // The bytes that the kernel's counters saw at each capped direction, headers included, from the start of the
  // workers to their end.
  std::vector<double> sent_bytes = {};
  double summed_bytes =
      0;  // of a worker's vectors in that time: one to check the sum, and one per repetition
};

// Runs the way's workers. Throws Error if a capped direction sent fewer bytes than an exchange of float32
// values needs: then the workers did not use the network.
Measurement measure(const netem::Network& network, const ExchangeJob& job);

}  // namespace thinpipe
