// SPDX-License-Identifier: Apache-2.0
// Simulations of workers that share a machine's cores.
#include <gtest/gtest.h>

#include "harness/experiment/bundled_files.hh"
#include "harness/simulation/simulator.hh"
#include "netem/topology/reduction_tree.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

netem::Topology topology_of(const std::string& name) {
  return netem::load_topology(bundled_topologies().find(name, {}, {}).string());
}

CommunicationTrace trace_of(int workers, const CollectiveCall& call, std::size_t buckets = 1) {
  CommunicationTrace trace{.world_size = workers, .parameters = {}, .layouts = {{}}};
  Exchange exchange;
  for (std::size_t b = 0; b < buckets; ++b) {
    trace.parameters.push_back({"weight", 1000});
    trace.layouts[0].push_back({.parameters = {b}});
    exchange.buckets.push_back({call});
  }
  trace.exchanges.push_back(exchange);
  trace.workers.assign(static_cast<std::size_t>(workers), {{0, 1}});
  return trace;
}

SimulatedIteration simulated(const CommunicationTrace& trace, const ComputeTimes& times,
                             const netem::Topology& topology, const std::optional<SimulatedMachine>& machine,
                             const CollectiveRouting& routing = {}) {
  return Simulator(topology, trace, times, routing, machine)
      .iterate(JointStep(static_cast<std::size_t>(trace.world_size), 0U));
}

const CollectiveCall no_exchange = AllReduceCall{.elements = 0};

TEST(SimulatedMachine, WithACorePerWorkerAndFreeCommunicationItIsIdeal) {
  const netem::Topology topology = topology_of("three-switch");
  const ComputeTimes times = {.load_s = 0.01,
                              .ready_s = {0.03, 0.02, 0.05},
                              .compute_s = 0.06,
                              .finish_s = 0.004,
                              .encode_s = 0.02,
                              .decode_s = 0.01,
                              .between_collectives_s = 0.005,
                              .overlapped_decode_s = 0.006};
  const AllReduceCall codes = {
      .type = ElementType::int8, .elements = 300'000, .largest_code = 1, .in_chunks = true};
  const CollectiveRouting tree = {.reduction_tree = netem::reduction_tree_of(topology, 8)};
  for (const CollectiveRouting& routing : {CollectiveRouting{}, tree}) {
    for (const CollectiveCall& call :
         {CollectiveCall(AllReduceCall{.elements = 300'000}), CollectiveCall(codes),
          CollectiveCall(AllGatherCall{.counts = std::vector<std::int64_t>(8, 9000)})}) {
      const CommunicationTrace trace = trace_of(8, call, 3);
      const SimulatedIteration ideal = simulated(trace, times, topology, {}, routing);
      for (const MachineModel& model :
           {MachineModel{.cores = 16}, MachineModel{.cores = 2, .workers_per_machine = 1}}) {
        const SimulatedIteration shared =
            simulated(trace, times, topology, SimulatedMachine{.model = model}, routing);
        EXPECT_NEAR(shared.iteration_time_s, ideal.iteration_time_s, 1e-9);
        EXPECT_NEAR(shared.exposed_exchange_s, ideal.exposed_exchange_s, 1e-9);
        EXPECT_NEAR(shared.exchange_s, ideal.exchange_s, 1e-9);
      }
    }
  }
}

TEST(SimulatedMachine, TwoWorkersOnACoreTakeTwiceAsLongToCompute) {
  const ComputeTimes times = {
      .load_s = 0.1, .ready_s = {0.2}, .compute_s = 0.3, .finish_s = 0.4, .prepare_s = 0.05};
  const SimulatedMachine one_core{.model = {.cores = 1}};
  const CommunicationTrace trace = trace_of(2, no_exchange);
  EXPECT_NEAR(simulated(trace, times, topology_of("pair"), one_core).iteration_time_s, 2 * 0.85, 1e-9);
  const SimulatedMachine one_each{.model = {.cores = 1, .workers_per_machine = 1}};
  EXPECT_NEAR(simulated(trace, times, topology_of("pair"), one_each).iteration_time_s, 0.85, 1e-9);
}

TEST(SimulatedMachine, ComputeOnADeviceOfItsOwnLeavesTheCoresFree) {
  const ComputeTimes times = {.load_s = 0.1, .ready_s = {0.2}, .compute_s = 0.3, .finish_s = 0.4};
  const SimulatedMachine machine{.model = {.cores = 1}, .computes_on_cores = false};
  EXPECT_NEAR(
      simulated(trace_of(8, no_exchange), times, topology_of("three-switch"), machine).iteration_time_s, 0.8,
      1e-9);
}

// Two workers swap a message while both compute: its CPU time comes on top of theirs.
TEST(SimulatedMachine, CommunicationDelaysCompute) {
  const ComputeTimes times = {.ready_s = {0}, .compute_s = 1};
  const CollectiveCall call = AllGatherCall{.counts = {1000, 1000}};
  SimulatedMachine machine{
      .model = {.cores = 1, .costs = {.core_s_per_message = 0.1, .core_s_per_capped_byte = 2e-4}}};
  const auto time_s = [&] {
    return simulated(trace_of(2, call), times, topology_of("pair"), machine).iteration_time_s;
  };
  EXPECT_NEAR(time_s(), 2 + 2 * (0.1 + 1000 * 2e-4), 1e-3);
  machine.model.cores = 2;
  EXPECT_NEAR(time_s(), 1 + (0.1 + 1000 * 2e-4), 1e-3);
  machine.model = {
      .cores = 3, .workers_per_machine = 1, .costs = machine.model.costs};  // a core for each job
  EXPECT_NEAR(time_s(), 1, 1e-3);
}

// Only the exchange's end waits for compute if that goes first as well.
TEST(SimulatedMachine, WithoutPrioritiesMessagesWaitForCompute) {
  const ComputeTimes times = {.ready_s = {0}, .compute_s = 1};
  const CollectiveCall call = AllGatherCall{.counts = {1000, 1000}};
  SimulatedMachine machine{.model = {.cores = 1, .costs = {.core_s_per_message = 0.1}}};
  const auto exchange_s = [&] {
    return simulated(trace_of(2, call), times, topology_of("pair"), machine).exchange_s;
  };
  EXPECT_NEAR(exchange_s(), 0.2, 1e-3);
  machine.model.communication_first = false;
  EXPECT_NEAR(exchange_s(), 6 * 0.05, 1e-3);  // four halves of messages and two workers share the core
}

// A message in pieces costs no more than one in one piece.
TEST(SimulatedMachine, PiecesShareTheCostOfTheirMessage) {
  const netem::Topology topology = topology_of("pair");
  const SimulatedMachine machine{.model = {.cores = 1, .costs = {.core_s_per_message = 0.1}}};
  const CollectiveRouting tree = {.reduction_tree = {-1, 0}};
  const ComputeTimes none = {.ready_s = {0}};
  for (const std::int64_t elements : {1, 300'000}) {
    const CommunicationTrace trace = trace_of(2, AllReduceCall{.elements = elements});
    const double ideal_s = simulated(trace, none, topology, {}, tree).iteration_time_s;
    const double time_s = simulated(trace, none, topology, machine, tree).iteration_time_s;
    EXPECT_GE(time_s, 0.2 - 1e-9) << elements;  // one message up, one down
    EXPECT_LE(time_s, 0.2 + ideal_s) << elements;
  }
}

TEST(SimulatedMachine, CoresAreFreeForAWhileIfWorkersOutnumberThem) {
  const ComputeTimes times = {.ready_s = {0.2}, .compute_s = 0.3};
  const CommunicationTrace trace = trace_of(2, no_exchange);
  SimulatedMachine machine{.model = {.cores = 1, .balancing_s = 0.02}};
  EXPECT_NEAR(simulated(trace, times, topology_of("pair"), machine).iteration_time_s, 0.62, 1e-9);
  machine.model.cores = 2;
  EXPECT_NEAR(simulated(trace, times, topology_of("pair"), machine).iteration_time_s, 0.3, 1e-9);
  machine.model = {.cores = 1, .workers_per_machine = 1, .balancing_s = 0.02};
  EXPECT_NEAR(simulated(trace, times, topology_of("pair"), machine).iteration_time_s, 0.3, 1e-9);
}

TEST(SimulatedMachine, AFirstStepComputesForLonger) {
  const ComputeTimes times = {.ready_s = {0.2}, .compute_s = 0.3};
  const CommunicationTrace trace = trace_of(2, no_exchange);
  const netem::Topology topology = topology_of("pair");
  const SimulatedMachine machine{.model = {.cores = 1}};
  const Simulator simulator(topology, trace, times, {}, machine);
  EXPECT_NEAR(simulator.iterate({0U, 0U}, 1).iteration_time_s, 2 * 1.3, 1e-9);
}

}  // namespace
}  // namespace thinpipe
