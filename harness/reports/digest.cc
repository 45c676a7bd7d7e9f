// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/digest.hh"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "common/support/registry.hh"
#include "harness/plan/external_trainer.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/record_view.hh"
#include "harness/reports/set_up.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {
namespace {

const char* const unknown = "unknown";

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json ratio(const Json& numerator, const Json& denominator) {
  if (!numerator.is_number() || !denominator.is_number() || denominator == 0) return nullptr;
  return numerator.get<double>() / denominator.get<double>();
}

// Returns the trainer without its method: only runs of the same program or command are comparable. The options of
// a command, its method's among them, are left out on request.
std::string trainer_without_method(const Json& trainer, bool with_options = true) {
  if (!trainer.is_object()) return trainer.dump();
  if (!trainer.contains("command")) return trainer.at("program").dump();
  Json out = {{"command", trainer.at("command")}, {"inputs_hash", trainer.value("inputs_hash", "")}};
  if (with_options) out["options"] = trainer.value("options", Json::object());
  return out.dump();
}

// Returns the method's name. An external trainer names its own; its synchroniser is only there to make the
// configuration valid. A method in a Python file is named without the folder: my_method.py:MyTopK.
std::string method_of(const Json& config) {
  static const Json::json_pointer synchroniser("/synchroniser/name");
  if (const auto own = method_of_trainer(config.value("trainer", Json(nullptr)))) return *own;
  auto name = config.value(synchroniser, std::string());
  if (auto script = parse_script_name(name)) {
    script->file = script->file.filename();
    return script->text();
  }
  return name;
}

// Sets the group, which is equal for runs that differ only in their seed, `comparable` and `same_task`. All are
// hashes of the members' texts, so that each text is written only once.
void set_names(Digest& digest, Json config) {
  const Json trainer = config.value("trainer", Json(nullptr));
  MemberTexts texts = member_texts(decisive_part(std::move(config)));
  MemberTexts::node_type seed = texts.extract("seed");
  digest.row["group"] = run_id_of(texts);
  texts.insert(std::move(seed));
  for (const char* other : {"synchroniser", "pruning"}) texts.erase(other);
  const bool has_trainer = texts.contains("trainer");
  if (has_trainer) texts["trainer"] = trainer_without_method(trainer);
  digest.comparable = run_id_of(texts);
  texts.erase("optimiser");
  if (has_trainer) texts["trainer"] = trainer_without_method(trainer, false);
  digest.same_task = run_id_of(texts);
}

double better(const Target& target, double a, double b) {
  return target.metric == Target::Metric::accuracy ? std::max(a, b) : std::min(a, b);
}

// Adds the target, the last and the best level of its metric, and the train time and iteration at which it was held
// and first reached. The last four stay null if it was not, or the run did not complete.
void add_target(Json& row, const Record& record, const Wanted& wanted) {
  const std::optional<Target>& asked = wanted.target;
  JsonObject config(record.config, {"", "/config"});
  const std::vector<Target> own = read_targets(config);
  if (!asked && own.empty()) return;
  const Target target = asked ? *asked : own.back();
  row["target"] = to_json(target);
  row["target_preset"] = std::ranges::find(own, target) != own.end();
  row["hold"] = wanted.hold.value_or(hold_of(record.config));
  row["reached"] = false;
  std::optional<double> last;
  std::optional<double> best;
  for (const record::CurvePoint& point : record.curve) {
    last = level_of(target.metric, point);
    if (last) best = best ? better(target, *best, *last) : *last;
  }
  row["final_level"] = or_null(last);
  row["best_level"] = or_null(best);
  if (record.status != "completed") return;
  const record::TargetResult result = reach_target(record.curve, target, row.at("hold").get<std::int64_t>());
  row["reached"] = result.held->reached;
  row["time_to_accuracy_s"] = or_null(result.held->train_time_s);
  row["iterations_to_target"] = or_null(result.held->iteration);
  row["restricted_time_to_accuracy_s"] =
      result.held->reached ? row["time_to_accuracy_s"] : row["train_time_s"];
  row["restricted_iterations_to_target"] =
      result.held->reached ? row["iterations_to_target"] : row["iterations"];
  row["first_touch_s"] = or_null(result.train_time_s);
  row["first_touch_iteration"] = or_null(result.iteration);
}

// Adds the set-up cost, and the times to the target with it; null if it is unknown.
void add_set_up(Json& row, const Record& record) {
  const record::SetUp set_up = set_up_of(record);
  const std::optional<double> cost_s = total_s(set_up);
  row["pretraining_s"] = or_null(set_up.pretraining_s);
  row["pretraining_from"] = or_null(set_up.pretraining_from);
  row["pruning_s"] = or_null(set_up.pruning_s);
  row["set_up_s"] = or_null(cost_s);
  for (const char* time : {"time_to_accuracy", "restricted_time_to_accuracy"}) {
    const Json& without = row.at(fmt::format("{}_s", time));
    row[fmt::format("{}_with_set_up_s", time)] =
        cost_s && without.is_number() ? Json(without.get<double>() + *cost_s) : Json(nullptr);
  }
}

// Returns how many iterations were executed: those that workers repeated after a restart count each time, as their bytes
// do.
std::int64_t executed_iterations(const Record& record) {
  std::int64_t executed = record.iterations;
  if (!record.restarts) return executed;
  for (const record::Restart& restart : *record.restarts)
    executed += restart.after_iteration - restart.resumed_after_iteration.value_or(restart.after_iteration);
  return executed;
}

// Adds the wire bytes of the busiest bottleneck direction, and their ratio to the bytes that a worker sent by
// the collectives' formulas. In a ring in rank order, exactly these must cross the bottleneck. A replay counts the bytes of
// the few iterations that it sends and of their warm-up, not of the whole run as all other totals do, so it has none.
void add_traffic(Json& row, const Record& record) {
  const record::Traffic& traffic = record.traffic;
  std::optional<std::string> busiest;
  std::optional<std::int64_t> bytes;
  for (const RecordedLink& link : links_of(record.config)) {
    if (!link.bottleneck.value_or(false)) continue;
    const std::string& a = link.between[0];
    const std::string& b = link.between[1];
    for (const std::string& direction : {netem::direction_name(a, b), netem::direction_name(b, a)}) {
      const auto crossed = traffic.wire_bytes.find(direction);
      if (crossed == traffic.wire_bytes.end() || crossed->second <= bytes) continue;
      busiest = direction;
      bytes = crossed->second;
    }
  }
  row["payload_bytes_per_worker"] = or_null(traffic.payload_bytes_per_worker);
  row["payload_bytes_per_iteration"] = ratio(row["payload_bytes_per_worker"], executed_iterations(record));
  row["sent_bytes_per_worker"] = or_null(traffic.sent_bytes_per_worker);
  row["bottleneck_direction"] = or_null(busiest);
  row["bottleneck_wire_bytes"] = record.mode == "replay" ? Json(nullptr) : or_null(bytes);
  row["wire_over_sent"] = ratio(row.at("bottleneck_wire_bytes"), row["sent_bytes_per_worker"]);
  Json& utilisation = row["utilisation"] = Json::object();
  for (const auto& [direction, share] : traffic.utilisation) utilisation[direction] = or_null(share);
  row["bottleneck_utilisation"] = busiest ? utilisation.value(*busiest, Json(nullptr)) : Json(nullptr);
}

// Adds the measured and the predicted iteration time. Old records have no "predicted".
void add_iteration_time(Json& row, const Record& record) {
  const record::Prediction predicted = record.predicted.value_or(std::nullopt).value_or(record::Prediction());
  row["iteration_time_s"] = write_part(record.iteration_time_s);
  row["predicted"] = write_part(predicted);
  row["measured_over_predicted"] =
      record.iteration_time_s ? ratio(record.iteration_time_s->mean, or_null(predicted.iteration_time_s))
                              : Json(nullptr);
}

// Returns how often a link changed during the run.
std::int64_t link_changes(const Record& record) {
  if (!record.network_events) return 0;
  return std::ranges::count_if(*record.network_events, [](const record::NetworkEvent& event) {
    return event.confirmed_s.has_value();
  });
}

Json row_of(const Record& record, const Wanted& wanted) {
  Json row = {{"run_id", record.run_id},
              {"experiment", record.experiment},
              {"label", record.label},
              {"labels", record.labels},
              {"mode", record.mode},
              {"status", record.status},
              {"error", write_part(record.error)},
              {"train_time_s", or_null(record.train_time_s)}};
  for (const char* field :
       {"target", "target_preset", "hold", "reached", "time_to_accuracy_s", "iterations_to_target",
        "restricted_time_to_accuracy_s", "restricted_iterations_to_target", "first_touch_s",
        "first_touch_iteration", "final_level", "best_level"})
    row[field] = nullptr;
  row["seed"] = record.config.value("seed", Json(nullptr));
  row["final_accuracy"] = or_null(final_accuracy(record.curve));
  row["final_test_loss"] = record.curve.empty() ? Json(nullptr) : or_null(record.curve.back().test_loss);
  row["effective_density"] = or_null(record.compression.effective_density);
  row["vnmse"] = or_null(record.compression.vnmse);
  row["fidelity"] = record.fidelity ? Json(record.fidelity->verdict) : Json(nullptr);
  row["link_changes"] = link_changes(record);
  row["iterations"] = record.iterations;
  row["warnings"] = record.warnings.value_or(std::vector<std::string>());  // old records have none
  row["iterations_per_s"] = ratio(row.at("iterations"), row.at("train_time_s"));
  add_target(row, record, wanted);
  add_set_up(row, record);
  add_traffic(row, record);
  add_iteration_time(row, record);
  return row;
}

// Returns the member as text.
std::string text(const Json& value, const char* pointer) {
  const Json member = value.value(Json::json_pointer(pointer), Json(nullptr));
  if (member.is_null()) return unknown;
  return member.is_string() ? member.get<std::string>() : member.dump();
}

// Returns the text of a part of the training; "-" if a script brings its own.
std::string text_of_part(const Record& record, const char* pointer) {
  static const Json::json_pointer command("/trainer/command");
  return record.config.contains(command) ? "-" : text(record.config, pointer);
}

std::string hardware(const Record& record) {
  const Json& provenance = record.provenance;
  std::string out = fmt::format("{}, {} cores", text(provenance, "/cpu"), text(provenance, "/cores"));
  if (const std::string gpu = text(provenance, "/gpu"); gpu != unknown) out += fmt::format(", {}", gpu);
  return out;
}

// Returns the interface of a run's machines, and the range of the rates between them.
std::string real_network(const record::Cluster& cluster) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t from = 0; from < cluster.before.bit_per_s.size(); ++from) {
    for (std::size_t to = 0; to < cluster.before.bit_per_s[from].size(); ++to) {
      if (from == to) continue;
      least = std::min(least, cluster.before.bit_per_s[from][to]);
      most = std::max(most, cluster.before.bit_per_s[from][to]);
    }
  }
  const std::size_t machines = cluster.nodes.size();
  if (machines < 2) return "one machine";
  std::string out = fmt::format("{} machines, {}, {:.4g} to {:.4g} Mbit/s of payload", machines,
                                cluster.nodes.front().network_interface, least / 1e6, most / 1e6);
  if (cluster.largest_change)
    out += fmt::format(", up to {:.2g} % off after training", 100 * *cluster.largest_change);
  return out;
}

std::string network(const Record& record) {
  if (record.mode == "converge") return "none";
  if (record.cluster) return real_network(*record.cluster);
  const std::string rate = text(record.config, "/bottleneck/rate");
  const std::string name = text(record.config, "/topology/name");
  return rate == unknown ? name : fmt::format("{}, bottleneck {}", name, rate);
}

std::string commit(const Record& record) {
  const bool dirty = record.provenance.value("dirty", Json(nullptr)) == true;
  return text(record.provenance, "/git_commit").substr(0, 10) + (dirty ? " + uncommitted changes" : "");
}

struct Fact {
  const char* name;
  std::string (*of)(const Record& record);
};
const Fact facts[] = {
    {"mode", [](const Record& record) { return record.mode; }},
    {"model", [](const Record& record) { return text_of_part(record, "/model/name"); }},
    {"data", [](const Record& record) { return text_of_part(record, "/dataset/name"); }},
    {"workers", [](const Record& record) { return text(record.config, "/workers"); }},
    {"network", network},
    {"seed", [](const Record& record) { return text(record.config, "/seed"); }},
    {"hardware", hardware},
    {"kernel", [](const Record& record) { return text(record.provenance, "/kernel"); }},
    {"LibTorch", [](const Record& record) { return text(record.provenance, "/libraries/libtorch"); }},
    {"commit", commit},
    {"started", [](const Record& record) { return text(record.provenance, "/started_at"); }},
    {"run", [](const Record& record) { return record.run_id; }},
};

std::vector<std::string> failed_checks(const Record& record) {
  std::vector<std::string> failed;
  if (!record.fidelity) return failed;
  for (const record::Check& check : record.fidelity->checks) {
    if (!check.ok) failed.push_back(check.name);
  }
  return failed;
}

}  // namespace

Digest digest(Record record, const Wanted& wanted) {
  Digest out;
  out.row = row_of(record, wanted);
  out.continues = record.checkpoint.has_value();
  out.started_at = record.provenance.value("started_at", std::string());
  out.slurm_job = record.provenance.value("slurm_job", std::string());
  out.method = method_of(record.config);
  out.pruning = record.config.value("pruning", Json::object());
  if (record.mode != "converge" && record.mode != "simulate")
    out.measured_by = fmt::format("{}, commit {}", hardware(record), commit(record));
  if (wanted.origin) {
    for (const Fact& fact : facts) out.origin.push_back(fact.of(record));
    out.failed_checks = failed_checks(record);
  }
  if (wanted.curve) out.curve = std::move(record.curve);
  if (wanted.config) out.config = decisive_part(record.config);
  out.parameters_hash = std::move(record.parameters_hash);
  set_names(out, std::move(record.config));
  return out;
}

std::vector<std::string> origin_facts() {
  std::vector<std::string> names;
  for (const Fact& fact : facts) names.emplace_back(fact.name);
  return names;
}

}  // namespace thinpipe
