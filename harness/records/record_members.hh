// SPDX-License-Identifier: Apache-2.0
// The members of a record's JSON: each visit() lists those of one struct, with their rules. Reading, writing
// and tests share these lists.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <span>
#include <string_view>

#include "harness/records/record_data.hh"

namespace thinpipe::record {

inline constexpr double unbounded = std::numeric_limits<double>::infinity();

// The rule for a number or a string, or for each of those in an array or an object.
struct Allowed {
  double at_least = -unbounded;
  double above = -unbounded;
  double at_most = unbounded;
  std::span<const std::string_view> one_of = {};
  bool is_run_id = false;
};

inline constexpr Allowed amount{.at_least = 0};
inline constexpr Allowed positive{.above = 0};
inline constexpr Allowed positive_share{.above = 0, .at_most = 1};
inline constexpr Allowed share{.at_least = 0, .at_most = 1};
inline constexpr Allowed count{.at_least = 0, .at_most = 0x1p53};
inline constexpr Allowed count_from_one{.at_least = 1, .at_most = 0x1p53};
inline constexpr Allowed parent{.at_least = -1, .at_most = 0x1p53};
inline constexpr Allowed run_id{.is_run_id = true};

template <std::size_t size>
constexpr Allowed one_of(const std::array<std::string_view, size>& names) {
  return {.one_of = names};
}
inline constexpr std::array<std::string_view, 3> statuses = {"completed", "failed", "interrupted"};
inline constexpr std::array<std::string_view, 5> modes = {"live", "converge", "replay", "simulate",
                                                          "cluster"};
inline constexpr std::array<std::string_view, 2> clocks = {"train", "wall"};
inline constexpr std::array<std::string_view, 2> change_sources = {"event", "trace"};
inline constexpr std::array<std::string_view, 2> link_states = {"up", "down"};
inline constexpr std::array<std::string_view, 3> worker_actions = {"kill", "pause", "resume"};
inline constexpr std::array<std::string_view, 2> pretraining_sources = {"measured", "profile"};
inline constexpr std::array<std::string_view, 2> profile_origins = {"measured", "estimated"};
inline constexpr std::array<std::string_view, 2> compute_emulations = {"busy", "sleep"};
inline constexpr std::array<std::string_view, 4> verdicts = {"faithful", "degraded", "not judged", "real"};

// A struct that is read or written.
template <class T, class Part>
concept Is = std::same_as<std::remove_const_t<T>, Part>;

void visit(auto& members, Is<Failure> auto& failure) {
  members.required("kind", failure.kind);
  members.optional("rank", failure.rank, count);
  members.required("message", failure.message);
  members.optional("exit_status", failure.exit_status);
  members.optional("log_tail", failure.log_tail);
  members.optional("workers", failure.workers);
}

void visit(auto& members, Is<Limits> auto& limits) {
  members.required("stall_timeout_s", limits.stall_timeout_s, amount);
  members.optional("hang_timeout_s", limits.hang_timeout_s, amount);
  members.optional("profiling_time_s", limits.profiling_time_s, amount);
}

void visit(auto& members, Is<Delays> auto& delays) {
  members.required("count", delays.count, count);
  members.required("median_s", delays.median_s);
  members.required("p99_s", delays.p99_s);
  members.required("max_s", delays.max_s);
}

void visit(auto& members, Is<IdleCores> auto& cores) {
  members.required("kept_awake", cores.kept_awake);
  members.required("wakeup_latency", cores.wakeup_latency);
}

void visit(auto& members, Is<CpuPressure> auto& pressure) {
  members.required("controller", pressure.controller, share);
  members.required("network", pressure.network, share);
  members.required("machine", pressure.machine, share);
}

void visit(auto& members, Is<TrainClock> auto& clock) {
  members.required("stop_delay", clock.stop_delay);
}

void visit(auto& members, Is<InitialWeights> auto& weights) {
  members.required("path", weights.path);
  members.required("hash", weights.hash);
  members.required("test_accuracy", weights.test_accuracy, share);
}

void visit(auto& members, Is<SetUp> auto& set_up) {
  members.required("pretraining_s", set_up.pretraining_s, amount);
  members.required("pretraining_from", set_up.pretraining_from, one_of(pretraining_sources));
  members.required("pruning_s", set_up.pruning_s, amount);
}

void visit(auto& members, Is<CurvePoint> auto& point) {
  members.required("iteration", point.iteration, count);
  members.required("epoch", point.epoch, amount);
  members.required("train_time_s", point.train_time_s, amount);
  members.required("train_loss", point.train_loss);
  members.required("test_loss", point.test_loss);
  members.required("test_accuracy", point.test_accuracy, share);
}

// The evaluation at which a target was reached or held.
void visit_arrival(auto& members, auto& result) {
  members.required("reached", result.reached);
  members.required("iteration", result.iteration, count);
  members.required("train_time_s", result.train_time_s, amount);
  members.rule(!result.reached || result.iteration, "iteration",
               "must be an integer, because it was reached");
  members.rule(result.reached || !result.iteration, "iteration", "must be null, because it was not reached");
  members.rule(result.reached || !result.train_time_s, "train_time_s",
               "must be null, because it was not reached");
}

void visit(auto& members, Is<HeldTarget> auto& held) {
  members.required("evaluations", held.evaluations, count_from_one);
  visit_arrival(members, held);
}

void visit(auto& members, Is<TargetResult> auto& result) {
  members.target(result.target);
  visit_arrival(members, result);
  members.optional("held", result.held);
}

void visit(auto& members, Is<PrunedLayer> auto& layer) {
  members.required("name", layer.name);
  members.required("weights", layer.weights, count);
  members.required("kept", layer.kept, count);
}

void visit(auto& members, Is<Pruning> auto& pruning) {
  members.optional("density", pruning.density, share);
  members.optional("layers", pruning.layers);
}

void visit(auto& members, Is<Memory> auto& memory) {
  members.required("peak_bytes_per_worker", memory.peak_bytes_per_worker, count);
}

void visit(auto& members, Is<IterationTime> auto& time) {
  members.required("p50", time.p50, amount);
  members.required("p90", time.p90, amount);
  members.required("mean", time.mean, amount);
  members.required("load", time.load, amount);
  members.required("compute", time.compute, amount);
  members.required("encode", time.encode, amount);
  members.required("exchange", time.exchange, amount);
  members.required("decode", time.decode, amount);
  members.required("exposed_exchange", time.exposed_exchange, amount);
  members.optional("cpu", time.cpu, amount);
}

void visit(auto& members, Is<Prediction> auto& prediction) {
  members.required("exchange_time_s", prediction.exchange_time_s, amount);
  members.required("iteration_time_s", prediction.iteration_time_s, amount);
}

void visit(auto& members, Is<Traffic> auto& traffic) {
  members.required("payload_bytes_per_worker", traffic.payload_bytes_per_worker, count);
  members.required("sent_bytes_per_worker", traffic.sent_bytes_per_worker, count);
  members.optional("delivered_bytes_per_worker", traffic.delivered_bytes_per_worker, count);
  members.required("wire_bytes", traffic.wire_bytes, count);
  members.required("utilisation", traffic.utilisation, amount);
}

void visit(auto& members, Is<Compression> auto& compression) {
  members.required("effective_density", compression.effective_density, amount);
  members.required("vnmse", compression.vnmse, amount);
  members.optional("encode_cpu_s", compression.encode_cpu_s, amount);
  members.optional("decode_cpu_s", compression.decode_cpu_s, amount);
}

void visit(auto& members, Is<RequestedChange> auto& change) {
  members.optional("rate_bit_per_s", change.rate_bit_per_s, amount);
  members.optional("delay_s", change.delay_s, amount);
  members.optional("loss", change.loss, share);
  members.optional("state", change.state, one_of(link_states));
}

void visit(auto& members, Is<NetworkEvent> auto& event) {
  members.required("at_s", event.at_s, amount);
  members.optional("clock", event.clock, one_of(clocks));
  members.required("link", event.link);
  members.required("source", event.source, one_of(change_sources));
  members.required("requested", event.requested);
  members.required("confirmed_s", event.confirmed_s, amount);
  members.optional("confirmed_train_time_s", event.confirmed_train_time_s, amount);
  members.required("applied", event.applied);
  members.required("iteration", event.iteration, count);
  members.required("train_time_s", event.train_time_s, amount);
  const auto is_setting = [](const Json& value) { return value.is_object() || value.is_string(); };
  members.rule(!event.applied || std::ranges::all_of(*event.applied, is_setting), "applied",
               "must be an object of objects or strings, or null");
}

void visit(auto& members, Is<CrossFlow> auto& flow) {
  members.required("from", flow.from);
  members.required("to", flow.to);
  members.required("sent_bytes", flow.sent_bytes, count);
  members.required("received_bytes", flow.received_bytes, count);
}

void visit(auto& members, Is<Connections> auto& edge) {
  members.required("from", edge.from);
  members.required("to", edge.to);
  members.required("connections", edge.connections, count);
  members.required("acknowledged_bytes", edge.acknowledged_bytes, count);
  members.required("retransmitted_segments", edge.retransmitted_segments, count);
  members.required("min_round_trip_s", edge.min_round_trip_s, amount);
  members.required("mean_round_trip_s", edge.mean_round_trip_s, amount);
  members.required("max_round_trip_s", edge.max_round_trip_s, amount);
  members.required("mean_congestion_window_bytes", edge.mean_congestion_window_bytes, amount);
  members.required("mean_delivery_rate_bit_per_s", edge.mean_delivery_rate_bit_per_s, amount);
}

void visit(auto& members, Is<WorkerEvent> auto& event) {
  members.required("worker", event.worker, count);
  members.optional("at_s", event.at_s, amount);
  members.optional("at_iteration", event.at_iteration, count);
  members.optional("action", event.action, one_of(worker_actions));
  members.optional("slowdown", event.slowdown, positive);
  members.required("happened_s", event.happened_s, amount);
  members.required("iteration", event.iteration, count);
  members.required("train_time_s", event.train_time_s, amount);
  members.rule(event.at_s.has_value() != event.at_iteration.has_value(), "",
               "must have either \"at_s\" or \"at_iteration\"");
  members.rule(event.action.has_value() != event.slowdown.has_value(), "",
               "must have either \"action\" or \"slowdown\"");
}

void visit(auto& members, Is<Restart> auto& restart) {
  members.required("failure", restart.failure);
  members.required("after_iteration", restart.after_iteration, count);
  members.required("resumed_after_iteration", restart.resumed_after_iteration, count);
  members.required("lost_train_time_s", restart.lost_train_time_s);
  members.required("down_time_s", restart.down_time_s, amount);
}

void visit(auto& members, Is<Interruption> auto& interruption) {
  members.required("after_iteration", interruption.after_iteration, count_from_one);
  members.required("train_time_s", interruption.train_time_s, amount);
  members.required("started_at", interruption.started_at);
  members.required("ended_at", interruption.ended_at);
  members.required("cpu", interruption.cpu);
}

void visit(auto& members, Is<Checkpoint> auto& checkpoint) {
  members.required("after_iteration", checkpoint.after_iteration, count_from_one);
  members.required("path", checkpoint.path);
}

void visit(auto& members, Is<ComputeProfile> auto& profile) {
  members.required("path", profile.path);
  members.required("hash", profile.hash);
  members.required("origin", profile.origin, one_of(profile_origins));
  members.required("device", profile.device);
  members.required("concurrent_workers", profile.concurrent_workers, count_from_one);
}

void visit(auto& members, Is<SimulatedMachine> auto& machine) {
  members.required("path", machine.path);
  members.required("hash", machine.hash);
  members.required("cores", machine.cores, positive);
  members.required("workers_per_machine", machine.workers_per_machine, count_from_one);
  members.required("communication_first", machine.communication_first);
  members.required("core_s_per_message", machine.core_s_per_message, amount);
  members.required("core_s_per_byte", machine.core_s_per_byte, amount);
  members.required("core_s_per_capped_byte", machine.core_s_per_capped_byte, amount);
  members.required("balancing_s", machine.balancing_s, amount);
}

void visit(auto& members, Is<ReplayedClass> auto& each) {
  members.required("steps", each.steps, count);
  members.required("iterations", each.iterations, count);
  members.required("mean_s", each.mean_s, amount);
  members.required("ci95_half_width_s", each.ci95_half_width_s, amount);
}

void visit(auto& members, Is<Replay> auto& replay) {
  members.required("convergence_run", replay.convergence_run, run_id);
  members.required("compute_profile", replay.compute_profile);
  members.required("compute_emulation", replay.compute_emulation, one_of(compute_emulations));
  members.optional("machine", replay.machine);
  members.required("classes", replay.classes);
}

void visit(auto& members, Is<Check> auto& check) {
  members.required("name", check.name);
  members.any("specified", check.specified);
  members.any("measured", check.measured);
  members.required("ok", check.ok);
  members.optional("note", check.note);
}

void visit(auto& members, Is<Fidelity> auto& fidelity) {
  members.required("verdict", fidelity.verdict, one_of(verdicts));
  members.optional("directions", fidelity.directions, count);
  members.optional("judged_directions", fidelity.judged_directions, count);
  members.required("checks", fidelity.checks);
}

void visit(auto& members, Is<ClusterNode> auto& node) {
  members.required("host", node.host);
  members.required("node", node.node);
  members.required("network_interface", node.network_interface);
  members.required("address", node.address);
  members.required("connected_bit_per_s", node.connected_bit_per_s, amount);
}

void visit(auto& members, Is<MeasuredRates> auto& rates) {
  members.required("pairs_at_a_time", rates.pairs_at_a_time, count_from_one);
  members.required("bit_per_s", rates.bit_per_s, amount);
  members.required("round_trips_s", rates.round_trips_s, amount);
}

void visit(auto& members, Is<Cluster> auto& cluster) {
  members.required("nodes", cluster.nodes);
  members.required("before", cluster.before);
  members.required("after", cluster.after);
  members.required("largest_change", cluster.largest_change, amount);
  members.required("islands", cluster.islands, count);
  members.required("reduction_tree", cluster.reduction_tree, parent);
}

void visit(auto& members, Is<RecordedLink> auto& link) {
  members.required("between", link.between);
  members.optional("bottleneck", link.bottleneck);
  members.rule(link.between.size() == 2, "between", "must be an array of two strings");
}

void visit(auto& members, Is<Record> auto& record) {
  members.version("schema_version", record_schema_version);
  members.required("run_id", record.run_id, run_id);
  members.required("experiment", record.experiment);
  members.required("label", record.label);
  members.required("labels", record.labels);
  members.required("status", record.status, one_of(statuses));
  members.required("error", record.error);
  members.rule(record.status != "failed" || record.error, "error",
               "must be an object, because the run failed");
  members.required("mode", record.mode, one_of(modes));
  members.required("config", record.config);
  members.required("plan", record.plan);
  members.required("provenance", record.provenance);
  members.required("limits", record.limits);
  members.optional("idle_cores", record.idle_cores);
  members.optional("cpu_pressure", record.cpu_pressure);
  members.required("initial_weights", record.initial_weights);
  members.optional("set_up", record.set_up);
  members.required("train_time_s", record.train_time_s, amount);
  members.required("iterations", record.iterations, count);
  members.required("curve", record.curve);
  members.required("targets", record.targets);
  members.required("iteration_time_s", record.iteration_time_s);
  members.optional("predicted", record.predicted);
  members.required("traffic", record.traffic);
  members.required("compression", record.compression);
  members.required("pruning", record.pruning);
  members.required("synchroniser", record.synchroniser);
  members.required("skipped_steps", record.skipped_steps, count);
  members.required("memory", record.memory);
  members.required("parameters", record.parameters, count);
  members.required("parameters_hash", record.parameters_hash);
  members.optional("network_events", record.network_events);
  members.optional("train_clock", record.train_clock);
  members.optional("cross_traffic", record.cross_traffic);
  members.optional("connections", record.connections);
  members.optional("worker_events", record.worker_events);
  members.optional("restarts", record.restarts);
  members.optional("interruptions", record.interruptions);
  members.optional("checkpoint", record.checkpoint);
  members.optional("replay", record.replay);
  members.required("fidelity", record.fidelity);
  members.optional("cluster", record.cluster);
  members.optional("warnings", record.warnings);
}

}  // namespace thinpipe::record
