// SPDX-License-Identifier: Apache-2.0
// Datagrams between two hosts, each with its one-way delay; all hosts share this machine's clock.
#pragma once

#include <cstddef>
#include <vector>

#include "netem/kernel/host.hh"

namespace thinpipe::netem {

struct Datagrams {
  std::size_t count = 100;
  double gap_s = 0.005;             // minimum time between one and the next
  std::size_t payload_bytes = 100;  // 1472 in a full frame
  double patience_s = 1;            // how long the receiver waits for the next one
};

struct Arrival {
  std::size_t number = 0;  // in the order of sending
  double delay_s = 0;
  double time_s = 0;  // monotonic clock
};

// Sends the datagrams and returns the arrivals, in their order.
std::vector<Arrival> send_datagrams(const Host& from, const Host& to, const Datagrams& datagrams);

}  // namespace thinpipe::netem
