// SPDX-License-Identifier: Apache-2.0
// Watches the shaped links of a network during a run and judges, with evidence, whether the emulated network
// behaved as specified.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "netem/fidelity/fidelity.hh"
#include "netem/fidelity/rate_record.hh"
#include "netem/network.hh"

namespace thinpipe::netem {

class Monitor {
 public:
  // The approximate period for calls of sample(). Less frequent samples are also unbiased, but fewer windows
  // can be judged.
  static constexpr std::chrono::milliseconds sampling_period = RateRecord::sampling_period;

  // `network` must outlive this. Takes the first sample.
  explicit Monitor(const Network& network);

  // Reads and returns the counters of every shaped link, in about 20 us for two links (netem_benchmark).
  std::vector<LinkCounters> sample();

  // Samples, calls `change`, which may change the network, and samples again. Later samples are judged by the
  // links' new shapes; no window contains the change. Links that are down are not judged.
  void around(const std::function<void()>& change);

  // Takes a last sample and judges the run.
  Fidelity verdict();

 private:
  struct Watched {
    RateRecord record;
    ShapedDirection as_built;
    bool changed = false;
  };

  const Network& network_;
  std::vector<Watched> watched_;  // the shaped directions, in the order of Network::counters
};

}  // namespace thinpipe::netem
