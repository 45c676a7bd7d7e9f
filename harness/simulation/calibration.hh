// SPDX-License-Identifier: Apache-2.0
// Measures the CPU time of communication: two exchanges, of short and of long messages, that idle workers repeat over
// a network, and the costs that follow from the CPU time that they take. Pure.
#pragma once

#include <vector>

#include "common/protocol/compute_profile.hh"
#include "harness/simulation/machine_model.hh"
#include "harness/simulation/message_schedule.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {

// Returns the trace of workers that sum short vectors many times per step, then a long one. Its steps make three
// classes: the first step, the others with short vectors, those with long ones.
CommunicationTrace calibration_trace(int workers);
// Returns the profile of workers that compute nothing.
ComputeProfile calibration_profile();

// Returns the trace of workers that sum one short vector per step, and the profile of workers that keep a core busy
// for 10 ms before that.
CommunicationTrace balancing_trace(int workers);
ComputeProfile balancing_profile();

// Returns MachineModel::balancing_s: by how much longer than simulated, on a machine with these cores and costs, a step
// of that trace takes.
double balancing_s_of(double step_s, double cores, const CommunicationCosts& costs,
                      const netem::Topology& topology, int workers, const CollectiveRouting& routing);

// Returns the topology without its caps and, as these need caps, without delays and losses.
netem::Topology without_caps(netem::Topology topology);

// CPU time of all workers and the network per step of the trace, by the kind of its step.
struct CalibrationTimes {
  double short_s = 0;
  double long_s = 0;
};

// Returns the costs that explain both times: a message and each of its bytes take CPU time. `uncapped`: the times over
// the same network without caps; equal to `capped` if it has none.
// Throws Error if messages took no CPU time.
CommunicationCosts costs_of(const CalibrationTimes& capped, const CalibrationTimes& uncapped,
                            const netem::Topology& topology, int workers, const CollectiveRouting& routing);

}  // namespace thinpipe
