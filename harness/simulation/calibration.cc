// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/calibration.hh"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "harness/simulation/fluid_network.hh"
#include "harness/simulation/simulator.hh"

namespace thinpipe {
namespace {

constexpr std::int64_t short_elements = 16;
constexpr std::int64_t long_elements = std::int64_t{1} << 18;  // a mebibyte
// Per step, so that reports of steps take a small part of the time.
constexpr std::int64_t short_sums = 64;
constexpr std::int64_t long_sums = 2;
constexpr std::int64_t steps_of_class = 1000;
// Some time slices.
constexpr double busy_s = 0.01;

std::vector<CollectiveCall> calls(std::int64_t sums, std::int64_t elements) {
  return std::vector<CollectiveCall>(static_cast<std::size_t>(sums), AllReduceCall{.elements = elements});
}

// What all workers send in one sum.
struct Traffic {
  double messages = 0;
  double bytes = 0;  // over paths without a cap
  double capped_bytes = 0;
};

Traffic traffic_of_sum(std::int64_t elements, const netem::Topology& topology, int workers,
                       const CollectiveRouting& routing) {
  const FluidNetwork network(topology);
  Traffic out;
  for (int rank = 0; rank < workers; ++rank) {
    for (const Lane& lane :
         message_schedule_of(AllReduceCall{.elements = elements}, rank, workers, routing)) {
      for (const ScheduledMessage& message : lane.messages) {
        if (message.kind != ScheduledMessage::Kind::send) continue;
        out.messages += 1.0 / message.pieces;
        const bool is_capped =
            network.is_capped(static_cast<std::size_t>(rank), static_cast<std::size_t>(message.peer));
        (is_capped ? out.capped_bytes : out.bytes) += message.bytes;
      }
    }
  }
  return out;
}

double ratio(double dividend, double divisor) {
  return divisor > 0 ? std::max(0.0, dividend / divisor) : 0;
}

}  // namespace

CommunicationTrace calibration_trace(int workers) {
  CommunicationTrace trace{.world_size = workers,
                           .configuration = Json::object(),
                           .parameters = {{"vector", long_elements}},
                           .layouts = {{{.parameters = {0}}}},
                           .exchanges = {{.buckets = {calls(short_sums, short_elements)}},
                                         {.buckets = {calls(long_sums, long_elements)}}}};
  trace.workers.assign(static_cast<std::size_t>(workers), {{0, steps_of_class}, {1, steps_of_class}});
  return trace;
}

ComputeProfile calibration_profile() {
  const ComputeTimes none = {.ready_s = {0}};
  return {.device = Json::object(), .configuration = Json::object(), .elapsed = none, .cpu = none};
}

CommunicationTrace balancing_trace(int workers) {
  CommunicationTrace trace = calibration_trace(workers);
  trace.exchanges = {{.buckets = {calls(1, short_elements)}}};
  trace.workers.assign(static_cast<std::size_t>(workers), {{0, steps_of_class}});
  return trace;
}

ComputeProfile balancing_profile() {
  ComputeProfile profile = calibration_profile();
  const ComputeTimes busy = {.ready_s = {busy_s}, .compute_s = busy_s};
  profile.elapsed = busy;
  profile.cpu = busy;
  return profile;
}

double balancing_s_of(double step_s, double cores, const CommunicationCosts& costs,
                      const netem::Topology& topology, int workers, const CollectiveRouting& routing) {
  const CommunicationTrace trace = balancing_trace(workers);
  const ComputeTimes times = *balancing_profile().cpu;
  const JointStep step(static_cast<std::size_t>(workers), 0U);
  // Part of it hides behind the wait for others, so that a step grows by less.
  double balancing_s = 0;
  for (int i = 0; i < 4; ++i) {
    const MachineModel model = {.cores = cores, .costs = costs, .balancing_s = balancing_s};
    const Simulator simulator(topology, trace, times, routing, SimulatedMachine{.model = model});
    balancing_s = std::max(0.0, balancing_s + step_s - simulator.iterate(step).iteration_time_s);
  }
  return balancing_s;
}

netem::Topology without_caps(netem::Topology topology) {
  for (netem::Link& link : topology.links) {
    for (netem::Direction* direction : {&link.forward, &link.backward}) {
      *direction = {};
    }
  }
  return topology;
}

CommunicationCosts costs_of(const CalibrationTimes& capped, const CalibrationTimes& uncapped,
                            const netem::Topology& topology, int workers, const CollectiveRouting& routing) {
  const Traffic of_short = traffic_of_sum(short_elements, topology, workers, routing);
  const Traffic of_long = traffic_of_sum(long_elements, topology, workers, routing);
  const auto per_message = [&](const CalibrationTimes& times) {
    return ratio(times.short_s / short_sums, of_short.messages);
  };
  const auto of_bytes_s = [&](const CalibrationTimes& times) {
    return times.long_s / long_sums - of_long.messages * per_message(times);
  };
  CommunicationCosts costs{.core_s_per_message = per_message(capped)};
  const double all_s = capped.short_s + capped.long_s + uncapped.short_s + uncapped.long_s;
  if (!std::isfinite(all_s) || (of_short.messages > 0 && costs.core_s_per_message <= 0)) {
    throw Error(fmt::format(
        "measure the costs of communication: messages took {:.3g} s of CPU time, so other programs disturbed the "
        "measurement; end them, and start the command again",
        capped.short_s));
  }
  costs.core_s_per_byte = ratio(of_bytes_s(uncapped), of_long.bytes + of_long.capped_bytes);
  const double capped_s = of_bytes_s(capped) - of_long.bytes * costs.core_s_per_byte;
  costs.core_s_per_capped_byte =
      of_long.capped_bytes > 0 ? ratio(capped_s, of_long.capped_bytes) : costs.core_s_per_byte;
  return costs;
}

}  // namespace thinpipe
