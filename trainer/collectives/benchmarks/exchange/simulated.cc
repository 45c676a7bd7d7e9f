// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/benchmarks/exchange/simulated.hh"

#include "harness/simulation/simulator.hh"
#include "netem/topology/reduction_tree.hh"

namespace thinpipe {

double simulated_time_s(const netem::Topology& topology, std::int64_t elements) {
  const std::size_t workers = topology.hosts.size();
  const CommunicationTrace trace{
      .world_size = static_cast<int>(workers),
      .parameters = {{.name = "vector", .elements = elements}},
      .layouts = {{{.parameters = {0}}}},
      .exchanges = {{.buckets = {{AllReduceCall{.elements = elements}}}}},
      .workers = std::vector<std::vector<StepRun>>(workers, {{.exchange = 0, .steps = 1}})};
  const ComputeTimes no_compute = {.ready_s = {0}};
  const Simulator simulator(topology, trace, no_compute,
                            {.reduction_tree = netem::reduction_tree_of(topology, workers)});
  return simulator.iterate(JointStep(workers, 0)).iteration_time_s;
}

}  // namespace thinpipe
