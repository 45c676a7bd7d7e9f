// Simulates how long an iteration of a traced training run takes over a network. A discrete-event model of
// the workers: their compute times come from a profile, and they communicate through FluidNetwork. Calibrated
// by topology and profile alone. Pure.
#pragma once

#include <utility>
#include <vector>

#include "common/protocol/compute_profile.hh"
#include "common/protocol/schedule.hh"
#include "harness/simulation/message_schedule.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {

struct SimulatedIteration {
  double iteration_time_s = 0;    // until the last worker has new weights
  double exposed_exchange_s = 0;  // of rank 0
  double exchange_s = 0;          // of rank 0, inside collectives
};

class Simulator {
 public:
  // All references must outlive this and fit together. The trace's workers are on the topology's first hosts.
  Simulator(const netem::Topology& topology, const CommunicationTrace& trace, const ComputeTimes& times,
            CollectiveRouting routing = {})
      : topology_(topology), trace_(trace), times_(times), routing_(std::move(routing)) {}

  // Throws Error if the step's calls deadlock.
  SimulatedIteration iterate(const JointStep& step) const;

 private:
  const netem::Topology& topology_;
  const CommunicationTrace& trace_;
  const ComputeTimes& times_;
  CollectiveRouting routing_;
};

}  // namespace thinpipe
