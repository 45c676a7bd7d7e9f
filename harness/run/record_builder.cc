#include "harness/run/record_builder.hh"

#include <cmath>
#include <utility>

#include "common/support/target.hh"
#include "harness/plan/prediction.hh"
#include "harness/records/record.hh"
#include "harness/records/record_view.hh"

namespace thinpipe {
namespace {

std::vector<Target> targets_of(const Json& config) {
  JsonObject object(config, {"configuration", ""});
  return read_targets(object);
}

Json labels_object(const Labels& labels) {
  Json out = Json::object();
  for (const auto& [axis, label] : labels) out[axis] = label;
  return out;
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
    : run_(run),
      experiment_(std::move(experiment)),
      limits_(limits),
      provenance_(std::move(provenance)),
      peak_memory_bytes_(Json::array_t(static_cast<std::size_t>(run.workers))) {}

void RecordBuilder::add(std::int64_t rank, const event::Finished& finished) {
  if (!finished.peak_memory_bytes) return;
  peak_memory_bytes_.at(static_cast<std::size_t>(rank)) = *finished.peak_memory_bytes;
}

void RecordBuilder::add(const event::Replayed& replayed) {
  if (!replayed_) throw InvalidEvent("reported the end of a replay, but the run is not a replay");
  replayed_->on_event(replayed);
}

const Json& RecordBuilder::add_change(Json change) {
  change["iteration"] = measurements_.iterations();
  change["train_time_s"] = measurements_.train_time_s();
  changes_.push_back(std::move(change));
  return changes_.back();
}

Json RecordBuilder::build(const Outcome& outcome, const NetworkReport& network, const Json& worker_events,
                          const Json& restarts) const {
  // Without a network, times are not those of the run's configuration.
  const bool is_predicted = run_.mode != Mode::converge;
  return {{"schema_version", record_schema_version},
          {"run_id", run_.id},
          {"experiment", experiment_},
          {"label", run_.label},
          {"labels", labels_object(run_.labels)},
          {"status", name_of(outcome.status)},
          {"error", outcome.failure ? to_json(*outcome.failure) : Json(nullptr)},
          {"mode", run_.setting->config.at("mode")},
          {"config", whole_config(run_)},
          {"plan", described_plan(run_)},
          {"provenance", provenance_},
          {"limits",
           {{"stall_timeout_s", limits_.stall.count()},
            {"hang_timeout_s", limits_.silence.count()},
            {"profiling_time_s", limits_.profiling.count()}}},
          {"idle_cores", network.idle_cores},
          {"initial_weights", initial_weights_},
          {"train_time_s", train_time_s()},
          {"iterations", replayed_ ? replayed_->at("iterations") : Json(measurements_.iterations())},
          {"curve", curve()},
          {"targets", reach_targets(curve(), targets_of(run_.training->config))},
          {"iteration_time_s", measurements_.iteration_time_s()},
          {"predicted",
           is_predicted ? describe_prediction(run_, measurements_.iteration_time_s()) : Json(nullptr)},
          {"traffic", traffic(network)},
          {"compression", compression()},
          {"pruning", summarised("pruning")},
          {"synchroniser", summarised("synchroniser")},
          {"skipped_steps", summarised("skipped_steps")},
          {"memory", {{"peak_bytes_per_worker", peak_memory_bytes_}}},
          {"parameters", summarised("parameters")},
          {"parameters_hash", summarised("parameters_hash")},
          {"network_events", network_events(network.missed_changes)},
          {"train_clock", network.train_clock},
          {"worker_events", worker_events},
          {"restarts", restarts},
          {"replay", replay()},
          {"fidelity", network.fidelity}};
}

Json RecordBuilder::train_time_s() const {
  if (replayed_) return replayed_->train_time_s();
  return run_.mode == Mode::live ? Json(measurements_.train_time_s()) : Json(nullptr);
}

Json RecordBuilder::curve() const {
  return replayed_ ? replayed_->curve() : measurements_.curve();
}

// Returns a field of the workers' summary, or in a replay of the convergence run's record.
Json RecordBuilder::summarised(const char* field) const {
  if (replayed_) return replayed_->at(field);
  const Json& summary = measurements_.summary();
  return summary.is_object() ? summary.at(field) : Json(nullptr);
}

Json RecordBuilder::compression() const {
  if (replayed_) return replayed_->at("compression");
  return {{"effective_density", summarised("effective_density")}, {"vnmse", summarised("vnmse")}};
}

// Returns the traffic. In a replay, payload and sent bytes are the convergence run's, wire bytes the
// replay's.
Json RecordBuilder::traffic(const NetworkReport& network) const {
  Json out = replayed_ ? replayed_->at("traffic")
                       : Json{{"payload_bytes_per_worker", measurements_.payload_bytes()},
                              {"sent_bytes_per_worker", std::llround(measurements_.sent_bytes())}};
  out["wire_bytes"] = network.wire_bytes;
  out["utilisation"] = network.utilisation;
  return out;
}

// Returns every change and, with nulls, every scheduled change that did not happen.
Json RecordBuilder::network_events(const Json& missed) const {
  Json out = changes_;
  for (Json change : missed) {
    change["iteration"] = change["train_time_s"] = nullptr;
    out.push_back(std::move(change));
  }
  return out;
}

Json RecordBuilder::replay() const {
  if (!replayed_) return nullptr;
  Json out = replayed_->about();
  out["compute_profile"] = profile_;
  out["compute_emulation"] = run_.mode == Mode::replay ? Json(run_.compute_emulation()) : Json(nullptr);
  return out;
}

}  // namespace thinpipe
