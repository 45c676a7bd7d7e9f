// SPDX-License-Identifier: Apache-2.0
// The real network of a run whose workers are on several machines: measured before training and after it, and what its
// interfaces carried in between.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/event.hh"
#include "harness/executors/allocation.hh"
#include "harness/executors/executor.hh"
#include "harness/plan/run.hh"
#include "harness/records/record_data.hh"
#include "harness/terminal/progress.hh"
#include "netem/kernel/host.hh"

namespace thinpipe {

// How the workers of one launch find and know each other.
struct ClusterRendezvous {
  std::vector<std::string> addresses;                            // see GroupOptions
  std::vector<std::pair<std::string, std::string>> environment;  // has the launch's token
};

class ClusterNetwork {
 public:
  // Each worker gets a machine of its own, in the allocation's order. `folder`: the run's, which all machines share.
  // `run` must outlive this. Throws Error if this process has no allocation, or one with too few machines.
  ClusterNetwork(const Run& run, std::filesystem::path folder, std::string log_level);

  // Measures the network between all workers, for at most a minute. Returns how that ended unless it succeeded.
  std::optional<Outcome> measure_before(Executor& executor, Progress& progress, const TimeLimits& limits);
  // The same once more. Returns whether it succeeded.
  bool measure_after(Executor& executor, Progress& progress, const TimeLimits& limits);

  // The following need a measurement.

  // Returns another one for each launch, so that nobody can repeat what he saw at an earlier one.
  ClusterRendezvous rendezvous() const { return rendezvous_at(hosts_.front().address); }

  // The machine of a worker, with the address of its interface there.
  const netem::Host& host(std::int64_t rank) const { return hosts_.at(static_cast<std::size_t>(rank)); }
  const std::string& network_interface(std::int64_t rank) const;
  std::vector<std::string> launcher(std::int64_t rank) const {
    return allocation_.launcher(static_cast<std::size_t>(rank));
  }

  // The reduction tree for the islands that the measurement shows; empty if the run's collective needs none.
  std::vector<int> reduction_tree() const;

  // The network as a topology, which emulation can repeat.
  netem::Topology topology() const;

  // For the record; nullopt before a measurement.
  std::optional<record::Cluster> report() const;
  // The verdict "real" with a check of how steady the network was; null without the second measurement.
  Json fidelity() const;
  // What each machine's interface sent and received between the measurements, "w0->network" and "network->w0", headers
  // included, whoever sent it; empty without the second.
  std::map<std::string, std::optional<std::int64_t>> wire_bytes() const;
  // The same as a share of the highest rate that was measured.
  std::map<std::string, std::optional<double>> utilisation(double train_time_s) const;

 private:
  using Measured = std::vector<event::MeasuredNetwork>;  // by rank

  Outcome measure(Executor& executor, Progress& progress, const TimeLimits& limits, Measured& out);
  // Finds the address of the first worker's interface.
  Outcome locate(Executor& executor, Progress& progress, const TimeLimits& limits);
  // Lets the first `workers` measure the network between them.
  Outcome launch(Executor& executor, Progress& progress, const TimeLimits& limits, std::int64_t workers,
                 const ClusterRendezvous& rendezvous, Measured& out);
  ClusterRendezvous rendezvous_at(const std::string& address) const;
  struct Use {
    std::int64_t bytes = 0;
    double wire_bit_per_s = 0;
  };
  std::map<std::string, Use> uses() const;

  const Run& run_;
  std::filesystem::path folder_;
  std::string log_level_;
  Allocation allocation_;
  std::string first_address_;  // of the first worker; empty until it is known
  std::vector<netem::Host> hosts_;
  Measured before_;
  Measured after_;
};

}  // namespace thinpipe
