// Datagrams between two hosts, each with its one-way delay: all hosts share this machine's clock.
#pragma once

#include <cstddef>
#include <vector>

#include "netem/host.hh"

namespace thinpipe::netem {

struct Datagrams {
  std::size_t count = 100;
  double gap_s = 0.005;             // between one and the next, at least
  std::size_t payload_bytes = 100;  // a full frame's is 1472
  double patience_s = 1;            // how long to wait for another
};

struct Arrival {
  std::size_t number = 0;  // in the order of sending
  double delay_s = 0;
  double time_s = 0;  // monotonic clock
};

// Sends them and returns what arrived, in that order.
std::vector<Arrival> send_datagrams(const Host& from, const Host& to, const Datagrams& datagrams);

}  // namespace thinpipe::netem
