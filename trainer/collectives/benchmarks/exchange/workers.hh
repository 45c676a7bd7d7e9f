// SPDX-License-Identifier: Apache-2.0
// The workers of exchange_benchmark, one on every host of the network: each a separate program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netem/network.hh"

namespace thinpipe {

// One measurement.
struct ExchangeJob {
  std::string way;  // a backend, "ternary", "ternary-pieces", or another library's: see --help
  std::int64_t elements = 0;
  int repetitions = 0;
  std::string current_pytorch =
      {};  // an interpreter with PyTorch 2.x, for the way "pytorch2"; empty if there is none
  bool without_yields = false;  // Gloo's threads poll as on a host of their own (netem/preload/polling.cc)
};

// What one worker prints.
struct WorkerReport {
  std::vector<double> began_s;  // of each repetition, by the monotonic clock, which all workers share
  std::vector<double> ended_s;
  double machine_busy_s = 0;  // the whole machine's CPU time over all repetitions
  std::string library;        // its name and version
};

// Returns what is missing for the way and how to get it; nullopt if it can run.
std::optional<std::string> obstacle_to(const ExchangeJob& job);

// Runs the workers to their end and returns their reports. Throws Error if a worker fails or its sum is wrong.
std::vector<WorkerReport> run_workers(const netem::Network& network, const ExchangeJob& job);

}  // namespace thinpipe
