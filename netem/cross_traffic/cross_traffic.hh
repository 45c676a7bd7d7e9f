// SPDX-License-Identifier: Apache-2.0
// Flows between hosts that compete with the workers' traffic.
#pragma once

#include <memory>
#include <vector>

#include "netem/cross_traffic/cross_flow.hh"
#include "netem/network.hh"

namespace thinpipe::netem {

struct CrossFlowBytes {
  double sent = 0;      // on the wire, with Ethernet headers and what was sent again
  double received = 0;  // payload
};

class CrossTraffic {
 public:
  // Opens the flows' sockets. The network may be destroyed before. Throws SystemError naming the hosts.
  CrossTraffic(const Network& network, const std::vector<CrossFlow>& flows);
  // Stops the flows.
  ~CrossTraffic();
  CrossTraffic(const CrossTraffic&) = delete;
  CrossTraffic& operator=(const CrossTraffic&) = delete;
  CrossTraffic(CrossTraffic&&) = delete;
  CrossTraffic& operator=(CrossTraffic&&) = delete;

  // Starts all flows, with two threads each.
  void begin();

  // Stops them.
  void stop();

  // Stops them. Throws SystemError naming the first flow that failed.
  void end();

  // After stop() or end(): returns each flow's bytes, in the order of the flows.
  std::vector<CrossFlowBytes> bytes() const;

 private:
  class Flow;

  std::vector<std::unique_ptr<Flow>> flows_;
};

}  // namespace thinpipe::netem
