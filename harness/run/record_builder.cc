// SPDX-License-Identifier: Apache-2.0
#include "harness/run/record_builder.hh"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "common/support/target.hh"
#include "harness/plan/prediction.hh"
#include "harness/plan/script_content.hh"
#include "harness/records/record.hh"
#include "harness/records/record_view.hh"
#include "harness/run/set_up_cost.hh"

namespace thinpipe {
namespace {

std::vector<Target> targets_of(const Json& config) {
  JsonObject object(config, {"configuration", ""});
  return read_targets(object);
}

std::optional<double> predicted_iteration_s(const Run& run,
                                            const std::optional<record::IterationTime>& measured) {
  // An external trainer may not report a part.
  if (!measured || !measured->load || !measured->compute || !measured->encode || !measured->decode)
    return std::nullopt;
  return predict_iteration_s(run, {.load_s = *measured->load,
                                   .compute_s = *measured->compute,
                                   .encode_s = *measured->encode,
                                   .decode_s = *measured->decode});
}

// Returns the time of all prunings, which record::SetUp has; nullopt if the trainer does not report it.
std::optional<double> pruning_time_s(const Json& pruning) {
  if (!pruning.is_object()) return std::nullopt;
  const Json time_s = pruning.value("time_s", Json(nullptr));
  if (time_s.is_null()) return std::nullopt;
  if (!time_s.is_number() || time_s < 0)
    throw InputError({"", "/pruning/time_s"}, "must be a number that is not negative");
  return time_s.get<double>();
}

}  // namespace

const char* name_of(Outcome::Status status) {
  switch (status) {
    case Outcome::Status::completed:
      return "completed";
    case Outcome::Status::failed:
      return "failed";
    case Outcome::Status::interrupted:
      return "interrupted";
  }
  return "failed";
}

RecordBuilder::RecordBuilder(const Run& run, std::string experiment, const TimeLimits& limits,
                             Json provenance)
    : run_(run), experiment_(std::move(experiment)), limits_(limits), provenance_(std::move(provenance)) {
  memory_.peak_bytes_per_worker.resize(static_cast<std::size_t>(run.workers));
}

void RecordBuilder::set_initial_weights(const SharedWeights& weights) {
  initial_weights_ = weights.about;
  pretraining_s_ = weights.train_time_s;
}

void RecordBuilder::set_compute_profile(const Json& about, ComputeProfile profile) {
  profile_ = parse_part<std::optional<record::ComputeProfile>>(about, "/replay/compute_profile");
  compute_times_ = std::move(profile);
}

void RecordBuilder::set_machine(const SharedMachine& machine) {
  const MachineModel& model = machine.model;
  machine_ = {.path = machine.path,
              .hash = machine.hash,
              .cores = model.cores,
              .workers_per_machine = model.workers_per_machine.value_or(run_.workers),
              .communication_first = model.communication_first,
              .core_s_per_message = model.costs.core_s_per_message,
              .core_s_per_byte = model.costs.core_s_per_byte,
              .core_s_per_capped_byte = model.costs.core_s_per_capped_byte,
              .balancing_s = model.balancing_s};
}

void RecordBuilder::add(std::int64_t rank, const event::Finished& finished) {
  if (!finished.peak_memory_bytes) return;
  memory_.peak_bytes_per_worker.at(static_cast<std::size_t>(rank)) = *finished.peak_memory_bytes;
}

void RecordBuilder::add(const event::Summary& summary) {
  try {
    pruning_ = parse_part<std::optional<record::Pruning>>(summary.pruning, "/pruning");
    pruning_s_ = pruning_time_s(summary.pruning);
    if (!summary.synchroniser.is_null() && !summary.synchroniser.is_object())
      throw InputError({"", "/synchroniser"}, "must be an object or null");
  } catch (const InputError& error) {
    throw InvalidEvent(
        fmt::format("reported an event \"summary\" whose {} {}", error.place().pointer, error.message()));
  }
  summary_ = summary;
}

void RecordBuilder::add(const event::Dataset& dataset) {
  check_data_are_as_planned(run_, dataset.hash);
  set_provenance("dataset_hash", dataset.hash);
  if (!dataset.examples_per_worker.empty())
    set_provenance("examples_per_worker", dataset.examples_per_worker);
}

void RecordBuilder::add(const event::Replayed& replayed) {
  if (!replayed_) throw InvalidEvent("reported the end of a replay, but the run is not a replay");
  replayed_->on_event(replayed);
  measurements_.add(replayed);
}

const Json& RecordBuilder::add_change(Json change) {
  change["iteration"] = measurements_.iterations();
  change["train_time_s"] = measurements_.train_time_s();
  changes_.push_back(std::move(change));
  return changes_.back();
}

Record RecordBuilder::build(const Outcome& outcome, const NetworkReport& network,
                            std::vector<record::WorkerEvent> worker_events,
                            std::vector<record::Restart> restarts) const {
  Record out;
  out.status = name_of(outcome.status);
  if (outcome.failure) out.error = recorded(*outcome.failure);
  add_setting(out);
  out.replay.emplace();  // null
  if (replayed_) {
    add_replay(out);
  } else {
    add_training(out);
  }
  const Json& training = run_.training->config;
  for (const Target& target : targets_of(training))
    out.targets.push_back(reach_target(out.curve, target, hold_of(training)));
  out.iteration_time_s = measurements_.iteration_time_s();
  out.predicted.emplace();  // null
  // Without a network, times are not those of the run's configuration.
  if (run_.mode != Mode::converge)
    out.predicted->emplace(
        record::Prediction{.exchange_time_s = predict_exchange_s(run_),
                           .iteration_time_s = predicted_iteration_s(run_, out.iteration_time_s)});
  out.memory = memory_;
  add_network(out, network);
  out.worker_events = std::move(worker_events);
  out.restarts = std::move(restarts);
  out.warnings = warnings_;
  return out;
}

void RecordBuilder::add_setting(Record& record) const {
  record.run_id = run_.id;
  record.experiment = experiment_;
  record.label = run_.label;
  record.labels.insert(run_.labels.begin(), run_.labels.end());
  record.mode = run_.setting->config.at("mode").get<std::string>();
  record.config = whole_config(run_);
  if (Json plan = described_plan(run_); !plan.is_null()) record.plan = std::move(plan);
  record.provenance = provenance_;
  record.limits = {.stall_timeout_s = limits_.stall.count(),
                   .hang_timeout_s = limits_.silence.count(),
                   .profiling_time_s = limits_.profiling.count()};
  record.initial_weights = initial_weights_;
  add_set_up(record);
}

// The pre-training and the pruning of a replayed run were timed on the machine of its convergence run. A device that
// the profile describes would have needed another time for pre-training.
void RecordBuilder::add_set_up(Record& record) const {
  record.set_up.emplace();  // null
  if (run_.runs_command()) return;
  const auto device_times = run_.profile ? compute_times_ : std::nullopt;
  auto pruning_s = pruning_s_;
  if (replayed_) {
    const auto& replayed = replayed_->convergence_run().set_up.value_or(std::nullopt);
    pruning_s = replayed ? replayed->pruning_s : std::nullopt;
  }
  record.set_up->emplace(set_up_cost(run_.training->config, pretraining_s_, device_times, pruning_s));
}

void RecordBuilder::add_training(Record& record) const {
  if (run_.trains_in_real_time()) record.train_time_s = measurements_.train_time_s();
  record.iterations = measurements_.iterations();
  record.curve = measurements_.curve();
  record.traffic.payload_bytes_per_worker = measurements_.payload_bytes();
  if (const auto sent_bytes = measurements_.sent_bytes())
    record.traffic.sent_bytes_per_worker = std::llround(*sent_bytes);
  record.traffic.delivered_bytes_per_worker.emplace(measurements_.delivered_bytes());
  record.compression = {.effective_density = summary_.effective_density,
                        .vnmse = summary_.vnmse,
                        .encode_cpu_s = summary_.encode_cpu_s,
                        .decode_cpu_s = summary_.decode_cpu_s};
  record.pruning = pruning_;
  if (summary_.synchroniser.is_object()) record.synchroniser.emplace(summary_.synchroniser);
  record.skipped_steps = summary_.skipped_steps;
  record.parameters = summary_.parameters;
  record.parameters_hash = summary_.parameters_hash;
}

// The results are those of the convergence run, except times and what the replay's network carried.
void RecordBuilder::add_replay(Record& record) const {
  const Record& convergence_run = replayed_->convergence_run();
  record.train_time_s = replayed_->train_time_s();
  record.iterations = convergence_run.iterations;
  record.curve = replayed_->curve();
  record.traffic.payload_bytes_per_worker = convergence_run.traffic.payload_bytes_per_worker;
  record.traffic.sent_bytes_per_worker = convergence_run.traffic.sent_bytes_per_worker;
  record.traffic.delivered_bytes_per_worker = convergence_run.traffic.delivered_bytes_per_worker;
  record.compression = convergence_run.compression;
  record.pruning = convergence_run.pruning;
  record.synchroniser = convergence_run.synchroniser;
  record.skipped_steps = convergence_run.skipped_steps;
  record.parameters = convergence_run.parameters;
  record.parameters_hash = convergence_run.parameters_hash;
  record::Replay& replay = record.replay->emplace(replayed_->about());
  replay.compute_profile = profile_;
  replay.machine = machine_;
  if (run_.mode == Mode::replay) replay.compute_emulation = Json(run_.compute_emulation()).get<std::string>();
}

// Adds the network's part. Its events are every change and, with nulls, every scheduled change that did not
// happen.
void RecordBuilder::add_network(Record& record, const NetworkReport& network) const {
  record.idle_cores = parse_part<std::optional<record::IdleCores>>(network.idle_cores, "/idle_cores");
  record.cpu_pressure = parse_part<std::optional<record::CpuPressure>>(network.cpu_pressure, "/cpu_pressure");
  record.train_clock = parse_part<std::optional<record::TrainClock>>(network.train_clock, "/train_clock");
  record.traffic.wire_bytes = network.wire_bytes;
  record.traffic.utilisation = network.utilisation;
  if (!network.cross_traffic.empty())
    record.cross_traffic =
        parse_part<std::vector<record::CrossFlow>>(network.cross_traffic, "/cross_traffic");
  if (!network.connections.is_null())
    record.connections = parse_part<std::vector<record::Connections>>(network.connections, "/connections");
  record.cluster = network.cluster;
  record.fidelity = parse_part<std::optional<record::Fidelity>>(network.fidelity, "/fidelity");
  Json events = changes_;
  for (Json change : network.missed_changes) {
    change["iteration"] = change["train_time_s"] = nullptr;
    events.push_back(std::move(change));
  }
  record.network_events = parse_part<std::vector<record::NetworkEvent>>(events, "/network_events");
}

}  // namespace thinpipe
