// SPDX-License-Identifier: Apache-2.0
// The network's part of a run's record.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/support/json_object.hh"
#include "harness/records/record_data.hh"

namespace thinpipe {

class ClusterNetwork;
class LiveNetwork;

// The defaults are those of a run without a network.
struct NetworkReport {
  Json idle_cores = nullptr;
  Json cpu_pressure = nullptr;
  Json train_clock = nullptr;
  std::map<std::string, std::optional<std::int64_t>> wire_bytes = {};  // as in record::Traffic
  std::map<std::string, std::optional<double>> utilisation = {};
  Json cross_traffic = Json::array();  // see LiveNetwork::cross_traffic()
  Json connections = nullptr;
  Json fidelity = nullptr;
  std::optional<record::Cluster> cluster = {};  // of mode cluster
  Json missed_changes = Json::array();  // scheduled changes that did not happen, see netem/schedule_runner.hh
};

// Returns the report on a network that has ended. `time_s`: for which its use of the links is reported. `fidelity`: of the
// network, which can be judged only once.
NetworkReport report_on(const LiveNetwork& network, double time_s, const Json& fidelity);
NetworkReport report_on(const ClusterNetwork& network, double train_time_s);

}  // namespace thinpipe
