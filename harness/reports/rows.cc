#include "harness/reports/rows.hh"

#include <algorithm>

#include <fmt/format.h>

#include "harness/measurements.hh"
#include "harness/run_id.hh"

namespace thinpipe {
namespace {

// The member, or null where it or what should hold it is missing.
Json member(const Json& record, const char* pointer) {
  return record.value(Json::json_pointer(pointer), Json(nullptr));
}

Json ratio(const Json& numerator, const Json& denominator) {
  if (!numerator.is_number() || !denominator.is_number() || denominator == 0) return nullptr;
  return numerator.get<double>() / denominator.get<double>();
}

// What must agree between a run and its baseline.
Json common_part(const Json& record) {
  Json config = record.at("config");
  config.erase("synchroniser");
  config.erase("pruning");
  return config;
}

Json pruning(const Json& record) {
  return record.at("config").value("pruning", Json::object());
}

bool pruned(const Json& record) {
  return pruning(record).value("ratio", 0.0) > 0;
}

// The same for all runs that differ in their seed alone.
std::string group_of(const Json& record) {
  Json config = record.at("config");
  config.erase("seed");
  return run_id(config);
}

const Json* find_baseline(const std::vector<Json>& records, const Json& record,
                          const std::string& synchroniser) {
  const Json* best = nullptr;
  for (const Json& candidate : records) {
    const bool fits = candidate.at("status") == "completed" &&
                      member(candidate, "/config/synchroniser/name") == synchroniser &&
                      common_part(candidate) == common_part(record);
    if (!fits) continue;
    if (!pruned(candidate)) return &candidate;
    if (pruning(candidate) == pruning(record)) best = &candidate;
  }
  return best;
}

std::optional<Target> asked_target(const Json& record, const std::optional<Target>& target) {
  if (target) return target;
  JsonObject config(record.at("config"), {"record", ""});
  const std::vector<Target> own = read_targets(config);
  return own.empty() ? std::nullopt : std::optional(own.back());
}

// Train time and iteration of the first evaluation that reached the target; null where none did, and of a run
// that did not complete.
struct Reached {
  Json time_s = nullptr;
  Json iteration = nullptr;
};

Reached reach(const Json& record, const Target& target) {
  if (record.at("status") != "completed") return {};
  const Json result = reach_targets(record.at("curve"), {target}).front();
  return {result.at("train_time_s"), result.at("iteration")};
}

void add_speed_up(Json& row, const std::vector<Json>& records, const Json& record,
                  const std::string& baseline_name, const Target& target) {
  const std::string field = "speed_up_over_" + baseline_name;
  row[field] = nullptr;
  row[field + "_at_least"] = false;
  const Json* baseline = find_baseline(records, record, baseline_name);
  const Json own_time_s = reach(record, target).time_s;
  if (baseline == nullptr || own_time_s.is_null()) return;
  const Json their_time_s = reach(*baseline, target).time_s;
  const bool at_least = their_time_s.is_null();
  row[field] = ratio(at_least ? baseline->at("train_time_s") : their_time_s, own_time_s);
  row[field + "_at_least"] = at_least && !row[field].is_null();
}

void add_target(Json& row, const std::vector<Json>& records, const Json& record, const Target& target) {
  const Reached own = reach(record, target);
  row["target"] = to_json(target);
  row["reached"] = !own.iteration.is_null();
  row["time_to_accuracy_s"] = own.time_s;
  row["iterations_to_target"] = own.iteration;
  for (const char* baseline : {"dense", "fp16"}) add_speed_up(row, records, record, baseline, target);
}

// What crossed the busiest direction of a bottleneck, against what a worker sent by the collectives'
// formulas, which in a ring in rank order is what must cross.
void add_traffic(Json& row, const Json& record) {
  const Json& traffic = record.at("traffic");
  Json busiest = nullptr;
  Json bytes = nullptr;
  for (const Json& link : record.value(Json::json_pointer("/config/topology/links"), Json::array())) {
    if (!link.value("bottleneck", false)) continue;
    const auto a = link.at("between").at(0).get<std::string>();
    const auto b = link.at("between").at(1).get<std::string>();
    for (const std::string& direction : {fmt::format("{}->{}", a, b), fmt::format("{}->{}", b, a)}) {
      const Json crossed = traffic.at("wire_bytes").value(direction, Json(nullptr));
      if (!crossed.is_number() || (bytes.is_number() && crossed <= bytes)) continue;
      busiest = direction;
      bytes = crossed;
    }
  }
  row["payload_bytes_per_worker"] = traffic.at("payload_bytes_per_worker");
  row["sent_bytes_per_worker"] = traffic.at("sent_bytes_per_worker");
  row["bottleneck_direction"] = busiest;
  row["bottleneck_wire_bytes"] = bytes;
  row["bottleneck_utilisation"] =
      busiest.is_null() ? Json(nullptr)
                        : traffic.at("utilisation").value(busiest.get<std::string>(), Json(nullptr));
  row["wire_over_sent"] = ratio(bytes, traffic.at("sent_bytes_per_worker"));
  row["utilisation"] = traffic.at("utilisation");
}

// How long an iteration took, and how long it was to take. Records older than "predicted" lack it.
void add_iteration_time(Json& row, const Json& record) {
  row["iteration_time_s"] = record.at("iteration_time_s");
  row["predicted"] = {{"exchange_time_s", member(record, "/predicted/exchange_time_s")},
                      {"iteration_time_s", member(record, "/predicted/iteration_time_s")}};
  row["measured_over_predicted"] =
      ratio(member(record, "/iteration_time_s/mean"), member(record, "/predicted/iteration_time_s"));
}

// How often a link changed during the run.
std::int64_t link_changes(const Json& record) {
  const Json events = record.value("network_events", Json::array());
  return std::ranges::count_if(events, [](const Json& event) { return !event.at("confirmed_s").is_null(); });
}

Json make_row(const std::vector<Json>& records, const Json& record, const std::optional<Target>& asked) {
  const Json& curve = record.at("curve");
  Json row = {{"run_id", record.at("run_id")},
              {"group", group_of(record)},
              {"experiment", record.at("experiment")},
              {"label", record.at("label")},
              {"labels", record.at("labels")},
              {"seed", member(record, "/config/seed")},
              {"mode", record.at("mode")},
              {"status", record.at("status")},
              {"error", record.at("error")},
              {"target", nullptr},
              {"reached", nullptr},
              {"time_to_accuracy_s", nullptr},
              {"iterations_to_target", nullptr},
              {"train_time_s", record.at("train_time_s")},
              {"final_accuracy", nullptr},
              {"final_test_loss", curve.empty() ? Json(nullptr) : curve.back().value("test_loss", Json())},
              {"effective_density", member(record, "/compression/effective_density")},
              {"vnmse", member(record, "/compression/vnmse")},
              {"fidelity", member(record, "/fidelity/verdict")},
              {"link_changes", link_changes(record)}};
  if (const auto accuracy = final_accuracy(record)) row["final_accuracy"] = *accuracy;
  if (const auto target = asked_target(record, asked)) add_target(row, records, record, *target);
  add_traffic(row, record);
  add_iteration_time(row, record);
  return row;
}

}  // namespace

std::optional<double> final_accuracy(const Json& record) {
  const Json& curve = record.at("curve");
  if (curve.empty() || !curve.back().at("test_accuracy").is_number()) return std::nullopt;
  return curve.back().at("test_accuracy").get<double>();
}

Json make_rows(const std::vector<Json>& records, const std::optional<Target>& target) {
  Json rows = Json::array();
  for (const Json& record : records) rows.push_back(make_row(records, record, target));
  return rows;
}

}  // namespace thinpipe
