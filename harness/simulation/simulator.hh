// SPDX-License-Identifier: Apache-2.0
// Simulates how long an iteration of a traced training run takes over a network. A discrete-event model of
// the workers: their compute times come from a profile, and they communicate through FluidNetwork. Calibrated
// by topology, profile and, if workers share machines, the machine's model alone. Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "common/protocol/compute_profile.hh"
#include "common/protocol/schedule.hh"
#include "harness/simulation/machine_model.hh"
#include "harness/simulation/message_schedule.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {

struct SimulatedIteration {
  double iteration_time_s = 0;  // from one step's end on the last worker to the next one's
  double computed_at_s = 0;     // of rank 0: the end of its forward and backward pass
  // Of rank 0. Includes by how much the last worker's step is longer than that of rank 0.
  double exposed_exchange_s = 0;
  double exchange_s = 0;       // time inside collectives
  double exchanged_share = 0;  // of the gradient's elements
};

// The machines of the workers. Without them, each worker is ideal: compute and communication do not slow down each
// other, and messages take no CPU time.
struct SimulatedMachine {
  MachineModel model = {};
  // Whether ComputeTimes are CPU times, for which the workers compete; otherwise compute takes these times on a
  // device of its own, such as a GPU.
  bool computes_on_cores = true;
};

class Simulator {
 public:
  // All references must outlive this and fit together. The trace's workers are on the topology's first hosts.
  Simulator(const netem::Topology& topology, const CommunicationTrace& trace, const ComputeTimes& times,
            CollectiveRouting routing = {}, std::optional<SimulatedMachine> machine = {})
      : topology_(topology), trace_(trace), times_(times), routing_(std::move(routing)), machine_(machine) {}

  // Simulates an iteration among others of its kind: a worker that has its result early begins its next step early. It
  // computes for `start_s` longer, at its start. If the step's exchange overlaps with later
  // steps (Exchange::overlap_steps), simulates it from its beginning to the end of these steps, as one iteration. Throws
  // Error if the step's calls deadlock.
  SimulatedIteration iterate(const JointStep& step, double start_s = 0) const;

 private:
  const netem::Topology& topology_;
  const CommunicationTrace& trace_;
  const ComputeTimes& times_;
  CollectiveRouting routing_;
  std::optional<SimulatedMachine> machine_;
};

}  // namespace thinpipe
