// Watches the shaped links of a network during a run and says, with evidence, whether the emulation did what
// it was told.
#pragma once

#include <chrono>
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

  // Takes the last sample and judges.
  Fidelity verdict();

 private:
  const Network& network_;
  std::vector<RateRecord> records_;  // one a shaped direction, in the order of Network::counters
};

}  // namespace thinpipe::netem
