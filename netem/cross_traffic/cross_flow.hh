// SPDX-License-Identifier: Apache-2.0
// A flow that is not the workers', as an experiment describes it.
//
//   "cross_traffic": [{"from": "w0", "to": "w5", "rate": "40 Mbit/s"},                          constant
//                     {"from": "w1", "to": "w6", "rate": "80 Mbit/s", "on": "1 s", "off": "2 s"},
//                     {"from": "w2", "to": "w7"}]                                               bulk
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/support/options.hh"
#include "netem/topology/topology.hh"

namespace thinpipe::netem {

struct CrossFlow {
  std::string from = {};  // names of hosts
  std::string to = {};
  // Of datagrams, Ethernet headers included, whatever the network loses; nullopt: a TCP connection that sends as much
  // as it can.
  std::optional<double> rate_bit_per_s = {};
  // It sends for on_s, then pauses for off_s, and so on; nullopt: it never pauses.
  std::optional<double> on_s = {};
  std::optional<double> off_s = {};

  void visit(auto& field) {
    field("from", from, Rule{.effect = "the host that sends", .required = true});
    field("to", to, Rule{.effect = "the host that receives", .required = true});
    field("rate", rate_bit_per_s,
          Rule{.effect = "rate of its datagrams, Ethernet headers included, whatever is lost; null: a TCP "
                         "connection that sends as much as it can",
               .quantity = Quantity::rate,
               .above = 0});
    field("on", on_s,
          Rule{.effect = "how long it sends before each pause; null: it never pauses",
               .quantity = Quantity::duration,
               .above = 0});
    field("off", off_s, Rule{.effect = "length of its pauses", .quantity = Quantity::duration, .above = 0});
  }

  // Returns for how long it has been sending, `elapsed_s` after its start.
  double sending_s(double elapsed_s) const;
  bool is_on(double elapsed_s) const;
};

// Throws InputError unless the flows are between different hosts of the topology. `place` is the list's.
void check_cross_flows(const std::vector<CrossFlow>& flows, const Place& place, const Topology& topology);

}  // namespace thinpipe::netem
