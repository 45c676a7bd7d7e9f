#include "harness/report.hh"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "harness/measurements.hh"
#include "harness/run_id.hh"
#include "harness/table.hh"

namespace thinpipe {
namespace {

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
    const bool fits =
        candidate.at("status") == "completed" &&
        candidate.at("config").value(Json::json_pointer("/synchroniser/name"), "") == synchroniser &&
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

struct Reached {
  bool reached = false;
  double time_s = 0;
};

Reached reach(const Json& record, const Target& target) {
  const Json result = reach_targets(record.at("curve"), {target}).front();
  if (!result.at("reached").get<bool>()) return {};
  return {true, result.at("train_time_s").get<double>()};
}

void add_speed_up(Json& row, const std::vector<Json>& records, const Json& record,
                  const std::string& baseline_name, const Target& target) {
  const std::string field = "speed_up_over_" + baseline_name;
  row[field] = nullptr;
  row[field + "_at_least"] = false;
  const Json* baseline = find_baseline(records, record, baseline_name);
  const Reached own = reach(record, target);
  if (baseline == nullptr || !own.reached || own.time_s <= 0) return;
  const Reached theirs = reach(*baseline, target);
  row[field] = (theirs.reached ? theirs.time_s : baseline->at("train_time_s").get<double>()) / own.time_s;
  row[field + "_at_least"] = !theirs.reached;
}

// What crossed the busiest direction of a bottleneck, against what a worker sent by the collectives'
// formulas, which in a ring in rank order is what must cross.
void add_traffic(Json& row, const Json& record) {
  const Json& traffic = record.at("traffic");
  Json busiest = nullptr;
  for (const Json& link : record.at("config").at("topology").value("links", Json::array())) {
    if (!link.value("bottleneck", false)) continue;
    const auto a = link.at("between").at(0).get<std::string>();
    const auto b = link.at("between").at(1).get<std::string>();
    for (const std::string& direction : {fmt::format("{}->{}", a, b), fmt::format("{}->{}", b, a)}) {
      const Json bytes = traffic.at("wire_bytes").value(direction, Json(nullptr));
      if (bytes.is_number() && (busiest.is_null() || bytes > busiest)) busiest = bytes;
    }
  }
  const Json& sent = traffic.at("sent_bytes_per_worker");
  row["payload_bytes_per_worker"] = traffic.at("payload_bytes_per_worker");
  row["sent_bytes_per_worker"] = sent;
  row["bottleneck_wire_bytes"] = busiest;
  row["wire_over_sent"] =
      busiest.is_null() || sent == 0 ? Json(nullptr) : Json(busiest.get<double>() / sent.get<double>());
  row["utilisation"] = traffic.at("utilisation");
}

// How often a link changed during the run.
std::int64_t link_changes(const Json& record) {
  const Json events = record.value("network_events", Json::array());
  return std::ranges::count_if(events, [](const Json& event) { return !event.at("confirmed_s").is_null(); });
}

std::string fidelity_cell(const Json& row) {
  if (!row.at("fidelity").is_string()) return "-";
  const auto verdict = row.at("fidelity").get<std::string>();
  return row.at("link_changes") > 0 ? verdict + ", links changed" : verdict;
}

Json make_row(const std::vector<Json>& records, const Json& record, const std::optional<Target>& asked) {
  Json row = {{"run_id", record.at("run_id")},
              {"group", group_of(record)},
              {"experiment", record.at("experiment")},
              {"label", record.at("label")},
              {"labels", record.at("labels")},
              {"mode", record.at("mode")},
              {"status", record.at("status")},
              {"error", record.at("error")},
              {"target", nullptr},
              {"reached", nullptr},
              {"time_to_accuracy_s", nullptr},
              {"train_time_s", record.at("train_time_s")},
              {"final_accuracy", nullptr},
              {"iteration_time_s", record.at("iteration_time_s")},
              {"fidelity", nullptr},
              {"link_changes", link_changes(record)}};
  if (const auto accuracy = final_accuracy(record)) row["final_accuracy"] = *accuracy;
  if (record.at("fidelity").is_object()) row["fidelity"] = record.at("fidelity").at("verdict");
  if (const auto target = asked_target(record, asked)) {
    const Reached own = reach(record, *target);
    row["target"] = to_json(*target);
    row["reached"] = own.reached;
    if (own.reached) row["time_to_accuracy_s"] = own.time_s;
    for (const char* baseline : {"dense", "fp16"}) add_speed_up(row, records, record, baseline, *target);
  }
  add_traffic(row, record);
  return row;
}

std::string number_or_dash(const Json& value, const char* format, double factor = 1) {
  return value.is_number() ? fmt::format(fmt::runtime(format), factor * value.get<double>()) : "-";
}

std::string target_cell(const Json& row) {
  const Json& target = row.at("target");
  return target.is_null() ? "-" : to_string(read_target(target, {}));
}

std::string time_cell(const Json& row) {
  if (row.at("status") != "completed") return row.at("status").get<std::string>();
  if (row.at("target").is_null()) return "-";
  return row.at("reached").get<bool>() ? number_or_dash(row.at("time_to_accuracy_s"), "{:.1f} s")
                                       : "not reached";
}

std::string speed_up_cell(const Json& row, const std::string& baseline) {
  const std::string field = "speed_up_over_" + baseline;
  if (!row.contains(field)) return "-";
  return fmt::format("{}{}", row.at(field + "_at_least").get<bool>() ? ">" : "",
                     number_or_dash(row.at(field), "{:.2f}x"));
}

std::string iteration_cell(const Json& row, const char* part) {
  const Json& times = row.at("iteration_time_s");
  return times.is_object() ? number_or_dash(times.at(part), "{:.1f}", 1000) : "-";
}

std::vector<std::string> cells(const Json& row, bool with_experiment) {
  const auto label = row.at("label").get<std::string>();
  const Json& wire = row.at("bottleneck_wire_bytes");
  return {with_experiment ? row.at("experiment").get<std::string>() + ": " + label : label,
          target_cell(row),
          time_cell(row),
          speed_up_cell(row, "dense"),
          speed_up_cell(row, "fp16"),
          number_or_dash(row.at("final_accuracy"), "{:.4f}"),
          wire.is_number() ? format_bytes(wire.get<double>()) : "-",
          number_or_dash(row.at("wire_over_sent"), "{:.3f}"),
          iteration_cell(row, "mean"),
          iteration_cell(row, "compute"),
          iteration_cell(row, "encode"),
          iteration_cell(row, "exposed_exchange"),
          iteration_cell(row, "decode"),
          fidelity_cell(row)};
}

}  // namespace

std::optional<double> final_accuracy(const Json& record) {
  const Json& curve = record.at("curve");
  if (curve.empty() || !curve.back().at("test_accuracy").is_number()) return std::nullopt;
  return curve.back().at("test_accuracy").get<double>();
}

Json make_report(const std::vector<Json>& records, const std::optional<Target>& target) {
  Json rows = Json::array();
  for (const Json& record : records) rows.push_back(make_row(records, record, target));
  return rows;
}

std::string format_report(const Json& rows) {
  std::set<std::string> experiments;
  for (const Json& row : rows) experiments.insert(row.at("experiment").get<std::string>());
  std::vector<std::vector<std::string>> table;
  for (const Json& row : rows) table.push_back(cells(row, experiments.size() > 1));
  return format_table({"method", "target", "time to it", "vs dense", "vs fp16", "accuracy", "wire",
                       "wire/sent", "ms/iteration", "compute", "encode", "exposed", "decode", "fidelity"},
                      table);
}

}  // namespace thinpipe
