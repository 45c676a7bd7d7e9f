// SPDX-License-Identifier: Apache-2.0
#include "harness/run/network/network_report.hh"

#include "harness/run/network/cluster_network.hh"
#include "harness/run/network/live_network.hh"

namespace thinpipe {

NetworkReport report_on(const LiveNetwork& network, double time_s, const Json& fidelity) {
  NetworkReport out{.idle_cores = network.idle_cores(),
                    .cpu_pressure = network.cpu_pressure(),
                    .train_clock = network.train_clock(),
                    .wire_bytes = network.wire_bytes(),
                    .utilisation = network.utilisation(time_s),
                    .cross_traffic = network.cross_traffic(),
                    .connections = network.connections(),
                    .fidelity = fidelity};
  for (const netem::NetworkChange& change : network.missed())
    out.missed_changes.push_back(netem::to_json(change));
  return out;
}

NetworkReport report_on(const ClusterNetwork& network, double train_time_s) {
  return {.wire_bytes = network.wire_bytes(),
          .utilisation = network.utilisation(train_time_s),
          .fidelity = network.fidelity(),
          .cluster = network.report()};
}

}  // namespace thinpipe
