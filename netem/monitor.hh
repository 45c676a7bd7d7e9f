// Watches the shaped links of a network during a run and says, with evidence, whether the emulation did what
// it was told.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "netem/fidelity.hh"
#include "netem/network.hh"
#include "netem/rate_record.hh"

namespace thinpipe::netem {

class Monitor {
 public:
  // How often to call sample(), more or less: rarer samples are as right, but leave less to judge by.
  static constexpr std::chrono::milliseconds sampling_period = RateRecord::sampling_period;

  // `network` must outlive this. Takes the first sample.
  explicit Monitor(const Network& network);

  // Reads the counters of every shaped link; some 50 us.
  void sample();

  // Samples, lets `change` change the network, and samples again: what follows is judged by the shapes that
  // links then have, and no judgement straddles the change. Links that are down are not judged.
  void around(const std::function<void()>& change);

  // Takes the last sample and judges.
  Fidelity verdict();

 private:
  struct Watched {
    RateRecord record;
    ShapedDirection as_built;
    bool changed = false;
  };

  const Network& network_;
  std::vector<Watched> watched_;  // the shaped directions, in the order of Network::counters
  bool links_went_down_ = false;
};

}  // namespace thinpipe::netem
