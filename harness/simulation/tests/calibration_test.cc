// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/calibration.hh"

#include <limits>

#include <gtest/gtest.h>

#include "common/protocol/schedule.hh"
#include "common/support/exception.hh"
#include "harness/experiment/bundled_files.hh"
#include "harness/simulation/simulator.hh"
#include "netem/topology/reduction_tree.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

netem::Topology calibrated_network() {
  return netem::load_topology(bundled_topologies().find("three-switch", {}, {}).string());
}

TEST(Calibration, ItsTraceHasAClassOfStepsForEachLength) {
  const CommunicationTrace trace = calibration_trace(8);
  EXPECT_EQ(to_json(parse_trace(to_json(trace), "trace.json")), to_json(trace));
  const Schedule schedule = schedule_of(trace);
  ASSERT_EQ(schedule.classes.size(), 3U);
  EXPECT_EQ(schedule.classes[0].samples[0][0], 0U);
  EXPECT_EQ(schedule.classes[1].samples[0][0], 0U);
  EXPECT_EQ(schedule.classes[2].samples[0][0], 1U);
  const ComputeProfile profile = parse_profile(to_json(calibration_profile()), "profile.json");
  EXPECT_NO_THROW(check_profile_fits(profile, "profile.json", trace));
}

TEST(Calibration, ATopologyWithoutCapsHasNoCappedLink) {
  const netem::Topology topology = without_caps(calibrated_network());
  EXPECT_EQ(topology.links.size(), calibrated_network().links.size());
  for (const netem::Link& link : topology.links) EXPECT_TRUE(netem::is_uncapped(link));
}

// On one core, iterations of the calibration's own steps take the CPU time from which the costs follow.
TEST(Calibration, FindsTheCostsOfASimulatedMachine) {
  const netem::Topology topology = calibrated_network();
  const CommunicationTrace trace = calibration_trace(8);
  const ComputeTimes none = {.ready_s = {0}};
  const CommunicationCosts costs = {
      .core_s_per_message = 1e-2, .core_s_per_byte = 1e-6, .core_s_per_capped_byte = 4e-6};
  const CollectiveRouting tree = {.reduction_tree = netem::reduction_tree_of(topology, 8)};
  const CollectiveRouting ring = {.is_streamed = true};
  for (const CollectiveRouting& routing : {tree, ring}) {
    const auto times_over = [&](const netem::Topology& network) {
      const Simulator simulator(network, trace, none, routing,
                                SimulatedMachine{.model = {.cores = 1, .costs = costs}});
      return CalibrationTimes{.short_s = simulator.iterate(JointStep(8, 0U)).iteration_time_s,
                              .long_s = simulator.iterate(JointStep(8, 1U)).iteration_time_s};
    };
    const CommunicationCosts found =
        costs_of(times_over(topology), times_over(without_caps(topology)), topology, 8, routing);
    EXPECT_NEAR(found.core_s_per_message, costs.core_s_per_message, 0.05 * costs.core_s_per_message);
    EXPECT_NEAR(found.core_s_per_byte, costs.core_s_per_byte, 0.05 * costs.core_s_per_byte);
    EXPECT_NEAR(found.core_s_per_capped_byte, costs.core_s_per_capped_byte,
                0.05 * costs.core_s_per_capped_byte);
  }
}

TEST(Calibration, FindsHowLongCoresAreFreeAlthoughWorkersWait) {
  const netem::Topology topology = calibrated_network();
  const CommunicationTrace trace = balancing_trace(8);
  const ComputeProfile profile = balancing_profile();
  EXPECT_NO_THROW(check_profile_fits(profile, "profile.json", trace));
  EXPECT_EQ(schedule_of(trace).classes.size(), 2U);
  const CollectiveRouting tree = {.reduction_tree = netem::reduction_tree_of(topology, 8)};
  MachineModel model = {.cores = 2, .costs = {.core_s_per_message = 1e-4}, .balancing_s = 0.003};
  const Simulator simulator(topology, trace, *profile.cpu, tree, SimulatedMachine{.model = model});
  const double step_s = simulator.iterate(JointStep(8, 0U)).iteration_time_s;
  EXPECT_NEAR(balancing_s_of(step_s, 2, model.costs, topology, 8, tree), 0.003, 1e-5);
  EXPECT_EQ(balancing_s_of(0.001, 2, model.costs, topology, 8, tree), 0);
}

// A busy machine's measurement must not become a machine on which communication is free.
TEST(Calibration, RefusesTimesThatNoMessageCanHaveTaken) {
  const netem::Topology topology = calibrated_network();
  const CalibrationTimes good = {.short_s = 0.01, .long_s = 0.02};
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity(), 0.0}) {
    const CalibrationTimes times = {.short_s = bad, .long_s = 0.02};
    EXPECT_THROW(costs_of(times, good, topology, 8, {}), Error) << bad;
  }
  EXPECT_THROW(
      costs_of(good, {.short_s = 0.01, .long_s = std::numeric_limits<double>::quiet_NaN()}, topology, 8, {}),
      Error);
}

TEST(Calibration, WithoutCapsBothKindsOfBytesCostTheSame) {
  const CalibrationTimes times = {.short_s = 0.01, .long_s = 0.02};
  const CommunicationCosts costs = costs_of(times, times, without_caps(calibrated_network()), 8, {});
  EXPECT_GT(costs.core_s_per_byte, 0);
  EXPECT_EQ(costs.core_s_per_capped_byte, costs.core_s_per_byte);
}

}  // namespace
}  // namespace thinpipe
