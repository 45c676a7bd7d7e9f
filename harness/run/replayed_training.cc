// SPDX-License-Identifier: Apache-2.0
#include "harness/run/replayed_training.hh"

#include <fmt/format.h>

#include "common/protocol/sample_mean.hh"
#include "harness/records/record.hh"
#include "harness/simulation/simulator.hh"

namespace thinpipe {
namespace {

// Returns the times of the steps that a simulated exchange overlaps with, or of the only step. Only the last one waits
// for the exchange.
std::vector<event::IterationTimes> steps_of(const SimulatedIteration& simulated, std::int64_t steps,
                                            const ComputeTimes& times) {
  const double computing_s = simulated.iteration_time_s - simulated.exposed_exchange_s;
  std::vector<event::IterationTimes> out(static_cast<std::size_t>(steps),
                                         {.iteration_time_s = computing_s / static_cast<double>(steps),
                                          .load_s = times.load_s,
                                          .encode_s = 0,
                                          .exchange_s = 0,
                                          .decode_s = 0,
                                          .exposed_exchange_s = 0});
  for (event::IterationTimes& step : out) step.compute_s = step.iteration_time_s - times.load_s;
  event::IterationTimes& last = out.back();
  last.iteration_time_s += simulated.exposed_exchange_s;
  last.encode_s = simulated.exchanged_share * times.encode_s;
  last.exchange_s = simulated.exchange_s;
  last.decode_s = simulated.exchanged_share * times.decode_s;
  last.exposed_exchange_s = simulated.exposed_exchange_s;
  return out;
}

}  // namespace

ReplayedTraining::ReplayedTraining(const std::filesystem::path& folder)
    : trace_path_(std::filesystem::absolute(folder / trace_file_name)) {
  auto record = find_record(folder / record_name);
  if (!record || record->status != "completed" || !std::filesystem::exists(trace_path_)) {
    throw Error(fmt::format("cannot replay without the convergence run in {}: it is not complete{}",
                            folder.string(),
                            record && record->status == "failed" ? "; --retry-failed runs it again" : ""));
  }
  record_ = *std::move(record);
  trace_ = load_trace(trace_path_.string());
  schedule_ = schedule_of(trace_);
}

std::vector<Event> ReplayedTraining::simulate(const netem::Topology& topology, const ComputeProfile& profile,
                                              const CollectiveRouting& routing,
                                              const std::optional<MachineModel>& machine) const {
  check_profile_fits(profile, "the compute profile", trace_);
  const bool on_cores = machine && profile.cpu;
  const ComputeTimes& times = on_cores ? *profile.cpu : profile.elapsed;
  std::optional<SimulatedMachine> simulated_machine;
  if (machine) simulated_machine = {.model = *machine, .computes_on_cores = on_cores};
  const Simulator simulator(topology, trace_, times, routing, simulated_machine);
  std::vector<Event> events;
  double train_time_s = 0;
  event::Replayed replayed;
  for (const StepClass& each : schedule_.classes) {
    const bool is_first = &each == &schedule_.classes.front();
    const double start_s = is_first ? times.start_s : 0;
    SampleMean durations;
    for (const JointStep& sample : each.samples) {
      const SimulatedIteration iteration = simulator.iterate(sample, start_s);
      durations.add(iteration.iteration_time_s / static_cast<double>(each.steps_per_sample));
      for (event::IterationTimes step : steps_of(iteration, each.steps_per_sample, times)) {
        train_time_s += step.iteration_time_s;
        step.train_time_s = train_time_s;
        events.emplace_back(
            event::ReplayedIteration{.iteration = std::ssize(events) + 1,
                                     .represents_first_step = is_first && schedule_.classes.size() > 1,
                                     .times = step});
      }
    }
    replayed.classes.push_back({.steps = each.steps,
                                .iterations = durations.count() * each.steps_per_sample,
                                .mean_s = durations.mean()});
  }
  events.emplace_back(std::move(replayed));
  return events;
}

void ReplayedTraining::on_event(const event::Replayed& replayed) {
  replayed_ = replayed;
  class_times_s_.clear();
  for (const event::ReplayedClass& each : replayed.classes) class_times_s_.push_back(each.mean_s);
  if (class_times_s_.size() != schedule_.classes.size()) {
    throw Error(fmt::format("the workers replayed {} classes of steps, but the trace has {}",
                            class_times_s_.size(), schedule_.classes.size()));
  }
}

std::optional<double> ReplayedTraining::train_time_s() const {
  if (!replayed_) return std::nullopt;
  return schedule_.train_time_s(record_.iterations, class_times_s_);
}

std::vector<record::CurvePoint> ReplayedTraining::curve() const {
  if (!replayed_) return {};
  std::vector<record::CurvePoint> curve = record_.curve;
  for (record::CurvePoint& point : curve)
    point.train_time_s = schedule_.train_time_s(point.iteration, class_times_s_);
  return curve;
}

record::Replay ReplayedTraining::about() const {
  record::Replay out{.convergence_run = record_.run_id};
  if (!replayed_) return out;
  std::vector<record::ReplayedClass>& classes = out.classes.emplace();
  for (const event::ReplayedClass& each : replayed_->classes) {
    classes.push_back({.steps = each.steps,
                       .iterations = each.iterations,
                       .mean_s = each.mean_s,
                       .ci95_half_width_s = each.half_width_s});
  }
  return out;
}

}  // namespace thinpipe
