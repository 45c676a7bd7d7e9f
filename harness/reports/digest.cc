#include "harness/reports/digest.hh"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "harness/plan/external_trainer.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/record_view.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {
namespace {

const char* const unknown = "unknown";

// Returns the member; null if it or its parent is missing.
Json member(const Json& record, const Json::json_pointer& pointer) {
  return record.value(pointer, Json(nullptr));
}

Json ratio(const Json& numerator, const Json& denominator) {
  if (!numerator.is_number() || !denominator.is_number() || denominator == 0) return nullptr;
  return numerator.get<double>() / denominator.get<double>();
}

Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

// Returns the trainer program, without its method: only runs of the same program are comparable.
std::string program_of(const Json& trainer) {
  return (trainer.is_object() ? trainer.at("program") : trainer).dump();
}

// Returns the method's name. An external trainer names its own; its synchroniser is only there to make the
// configuration valid.
std::string method_of(const Json& config) {
  static const Json::json_pointer synchroniser("/synchroniser/name");
  const auto own = method_of_trainer(config.value("trainer", Json(nullptr)));
  return own ? *own : config.value(synchroniser, std::string());
}

// Sets the group, which is equal for runs that differ only in their seed, `comparable` and `same_task`. All are
// hashes of the members' texts, so that each text is written only once.
void set_names(Digest& digest, const Json& config) {
  MemberTexts texts = member_texts(decisive_part(config));
  MemberTexts::node_type seed = texts.extract("seed");
  digest.row["group"] = run_id_of(texts);
  texts.insert(std::move(seed));
  for (const char* other : {"synchroniser", "pruning"}) texts.erase(other);
  if (texts.contains("trainer")) texts["trainer"] = program_of(config.at("trainer"));
  digest.comparable = run_id_of(texts);
  texts.erase("optimiser");
  digest.same_task = run_id_of(texts);
}

// Returns the better of two levels of a metric; NaN only if both are.
double better(const Target& target, double a, double b) {
  return target.metric == Target::Metric::accuracy ? std::fmax(a, b) : std::fmin(a, b);
}

// Adds the target, the last and the best level of its metric, and the train time and iteration of the first
// evaluation that reached it. The last two stay null if none did or the run did not complete.
void add_target(Json& row, const Json& record, const std::optional<Target>& asked) {
  JsonObject config(record.at("config"), {"", "/config"});
  const std::vector<Target> own = read_targets(config);
  if (!asked && own.empty()) return;
  const Target target = asked ? *asked : own.back();
  row["target"] = to_json(target);
  row["target_preset"] = std::ranges::find(own, target) != own.end();
  row["reached"] = false;
  double last = std::numeric_limits<double>::quiet_NaN();
  double best = last;
  for (const Json& point : record.at("curve")) {
    last = measure(target.metric, point);
    best = better(target, best, last);
  }
  row["final_level"] = finite(last);
  row["best_level"] = finite(best);
  if (record.at("status") != "completed") return;
  const Json result = reach_targets(record.at("curve"), {target}).front();
  row["reached"] = result.at("reached");
  row["time_to_accuracy_s"] = result.at("train_time_s");
  row["iterations_to_target"] = result.at("iteration");
}

// Adds the wire bytes of the busiest bottleneck direction, and their ratio to the bytes that a worker sent by
// the collectives' formulas. In a ring in rank order, exactly these must cross the bottleneck.
void add_traffic(Json& row, const Json& record) {
  static const Json::json_pointer links("/config/topology/links");
  const Json& traffic = record.at("traffic");
  Json busiest = nullptr;
  Json bytes = nullptr;
  for (const Json& link : record.value(links, Json::array())) {
    if (!link.value("bottleneck", false)) continue;
    const auto a = link.at("between").at(0).get<std::string>();
    const auto b = link.at("between").at(1).get<std::string>();
    for (const std::string& direction : {netem::direction_name(a, b), netem::direction_name(b, a)}) {
      const Json crossed = traffic.at("wire_bytes").value(direction, Json(nullptr));
      if (!crossed.is_number() || (bytes.is_number() && crossed <= bytes)) continue;
      busiest = direction;
      bytes = crossed;
    }
  }
  row["payload_bytes_per_worker"] = traffic.at("payload_bytes_per_worker");
  row["payload_bytes_per_iteration"] = ratio(traffic.at("payload_bytes_per_worker"), row.at("iterations"));
  row["sent_bytes_per_worker"] = traffic.at("sent_bytes_per_worker");
  row["bottleneck_direction"] = busiest;
  row["bottleneck_wire_bytes"] = bytes;
  row["bottleneck_utilisation"] =
      busiest.is_null() ? Json(nullptr)
                        : traffic.at("utilisation").value(busiest.get<std::string>(), Json(nullptr));
  row["wire_over_sent"] = ratio(bytes, traffic.at("sent_bytes_per_worker"));
  row["utilisation"] = traffic.at("utilisation");
}

// Adds the measured and the predicted iteration time. Old records have no "predicted".
void add_iteration_time(Json& row, const Json& record) {
  static const Json::json_pointer exchange("/predicted/exchange_time_s");
  static const Json::json_pointer iteration("/predicted/iteration_time_s");
  static const Json::json_pointer mean("/iteration_time_s/mean");
  row["iteration_time_s"] = record.at("iteration_time_s");
  row["predicted"] = {{"exchange_time_s", member(record, exchange)},
                      {"iteration_time_s", member(record, iteration)}};
  row["measured_over_predicted"] = ratio(member(record, mean), member(record, iteration));
}

// Returns how often a link changed during the run.
std::int64_t link_changes(const Json& record) {
  const auto events = record.find("network_events");
  if (events == record.end()) return 0;
  return std::ranges::count_if(*events, [](const Json& event) { return !event.at("confirmed_s").is_null(); });
}

Json row_of(const Json& record, const std::vector<CurvePoint>& curve, const std::optional<Target>& asked) {
  static const Json::json_pointer seed("/config/seed");
  static const Json::json_pointer density("/compression/effective_density");
  static const Json::json_pointer vnmse("/compression/vnmse");
  static const Json::json_pointer verdict("/fidelity/verdict");
  Json row = Json::object();
  for (const char* field :
       {"run_id", "experiment", "label", "labels", "mode", "status", "error", "train_time_s"}) {
    row[field] = record.at(field);
  }
  for (const char* field : {"target", "target_preset", "reached", "time_to_accuracy_s",
                            "iterations_to_target", "final_level", "best_level"})
    row[field] = nullptr;
  row["seed"] = member(record, seed);
  row["final_accuracy"] = curve.empty() ? Json(nullptr) : finite(curve.back().test_accuracy);
  row["final_test_loss"] = curve.empty() ? Json(nullptr) : finite(curve.back().test_loss);
  row["effective_density"] = member(record, density);
  row["vnmse"] = member(record, vnmse);
  row["fidelity"] = member(record, verdict);
  row["link_changes"] = link_changes(record);
  row["iterations"] = record.value("iterations", Json(nullptr));
  row["iterations_per_s"] = ratio(row.at("iterations"), row.at("train_time_s"));
  add_target(row, record, asked);
  add_traffic(row, record);
  add_iteration_time(row, record);
  return row;
}

std::string text(const Json& record, const char* pointer) {
  const Json value = member(record, Json::json_pointer(pointer));
  if (value.is_null()) return unknown;
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string hardware(const Json& record) {
  std::string out =
      fmt::format("{}, {} cores", text(record, "/provenance/cpu"), text(record, "/provenance/cores"));
  if (const std::string gpu = text(record, "/provenance/gpu"); gpu != unknown)
    out += fmt::format(", {}", gpu);
  return out;
}

std::string network(const Json& record) {
  if (record.at("mode") == "converge") return "none";
  const std::string rate = text(record, "/config/bottleneck/rate");
  const std::string name = text(record, "/config/topology/name");
  return rate == unknown ? name : fmt::format("{}, bottleneck {}", name, rate);
}

std::string commit(const Json& record) {
  const bool dirty = member(record, Json::json_pointer("/provenance/dirty")) == true;
  return text(record, "/provenance/git_commit").substr(0, 10) + (dirty ? " + uncommitted changes" : "");
}

struct Fact {
  const char* name;
  std::string (*of)(const Json& record);
};
const Fact facts[] = {
    {"mode", [](const Json& record) { return text(record, "/mode"); }},
    {"model", [](const Json& record) { return text(record, "/config/model/name"); }},
    {"data", [](const Json& record) { return text(record, "/config/dataset/name"); }},
    {"workers", [](const Json& record) { return text(record, "/config/workers"); }},
    {"network", network},
    {"seed", [](const Json& record) { return text(record, "/config/seed"); }},
    {"hardware", hardware},
    {"kernel", [](const Json& record) { return text(record, "/provenance/kernel"); }},
    {"LibTorch", [](const Json& record) { return text(record, "/provenance/libraries/libtorch"); }},
    {"commit", commit},
    {"started", [](const Json& record) { return text(record, "/provenance/started_at"); }},
    {"run", [](const Json& record) { return text(record, "/run_id"); }},
};

std::vector<std::string> failed_checks(const Json& record) {
  static const Json::json_pointer checks("/fidelity/checks");
  std::vector<std::string> failed;
  for (const Json& check : record.value(checks, Json::array())) {
    if (!check.at("ok").get<bool>()) failed.push_back(check.at("name").get<std::string>());
  }
  return failed;
}

}  // namespace

Digest digest(const Json& record, const Wanted& wanted) {
  static const Json::json_pointer started_at("/provenance/started_at");
  Digest out;
  // Reads the curve, even if only the row is wanted: otherwise a row could be computed from invalid points.
  std::vector<CurvePoint> curve = read_curve(record.at("curve"));
  out.row = row_of(record, curve, wanted.target);
  out.started_at = record.value(started_at, std::string());
  set_names(out, record.at("config"));
  out.method = method_of(record.at("config"));
  out.pruning = record.at("config").value("pruning", Json::object());
  if (wanted.curve) out.curve = std::move(curve);
  if (wanted.origin) {
    for (const Fact& fact : facts) out.origin.push_back(fact.of(record));
    out.failed_checks = failed_checks(record);
  }
  return out;
}

std::vector<std::string> origin_facts() {
  std::vector<std::string> names;
  for (const Fact& fact : facts) names.emplace_back(fact.name);
  return names;
}

}  // namespace thinpipe
