// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/plan_table.hh"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "common/support/readable.hh"
#include "common/support/table.hh"
#include "harness/plan/prediction.hh"

namespace thinpipe {
namespace {

// Returns the members of the configuration that predictions ignore.
Json left_out_of(const Run& run) {
  Json out = Json::array();
  if (!run.cross_traffic.empty()) out.push_back("cross_traffic");
  if (!run.worker_events.empty()) out.push_back("worker_events");
  return out;
}

Json predict(const Run& run, const std::optional<ComputeCost>& cost, const Machine& machine) {
  Json out = {{"slowest_link", nullptr},
              {"wire_bytes_per_iteration", nullptr},
              {"exchange_time_per_iteration_s", nullptr},
              {"exchange_time_s", nullptr},
              {"caps_change", !run.schedule.empty()},
              {"left_out", left_out_of(run)},
              {"compute_time_alone_s", nullptr},
              {"iteration_time_s", nullptr},
              {"train_time_s", nullptr},
              {"memory_bytes", nullptr},
              {"network_cores", nullptr},
              {"machine_shortfall", nullptr}};
  if (run.training->plan.is_null()) return out;
  const auto iterations = run.training->plan.at("iterations").get<double>();
  if (const auto exchange = predict_exchange(run)) {
    out["slowest_link"] = exchange->link;
    out["wire_bytes_per_iteration"] = exchange->wire_bytes_per_iteration;
    out["exchange_time_per_iteration_s"] = exchange->time_s;
    out["exchange_time_s"] = exchange->time_s * iterations;
  }
  if (!cost) return out;
  const ResourceEstimate resources = estimate_resources(run, *cost, machine);
  out["compute_time_alone_s"] = cost->compute_s;
  if (predict_exchange_s(run)) {  // otherwise only the method itself knows its traffic
    out["iteration_time_s"] = resources.iteration_s;
    out["train_time_s"] = resources.iteration_s * iterations;
  }
  const bool memory_is_known = !cost->sleeps || !runs_workers_here(run);
  if (memory_is_known) out["memory_bytes"] = resources.memory_bytes;
  out["network_cores"] = resources.network_cores;
  if (const auto why = shortfall(resources, run.workers, machine)) out["machine_shortfall"] = *why;
  return out;
}

template <class Format>
std::string cell(const Json& value, const Format& format) {
  return value.is_null() ? "-" : format(value.get<double>());
}

std::string whole_number(double value) {
  return fmt::format("{:.0f}", value);
}

Json missing_of(const Run& run) {
  Json out = Json::array();
  for (const InputError& missing : run.missing) {
    out.push_back({{"file", missing.place().file},
                   {"pointer", missing.place().pointer},
                   {"message", missing.message()}});
  }
  return out;
}

// Lists each missing thing once, with the number of runs that need it.
std::string format_missing(const Json& rows) {
  std::map<std::string, std::size_t> counts;
  for (const Json& row : rows) {
    for (const Json& missing : row.at("missing")) {
      const InputError error({missing.at("file"), missing.at("pointer")}, missing.at("message"));
      ++counts[error.what()];
    }
  }
  if (counts.empty()) return "";
  std::string out = "\nMissing on this machine (`thinpipe run` refuses these runs here):\n";
  for (const auto& [what, count] : counts)
    out += fmt::format("  {} of {} runs: {}\n", count, rows.size(), what);
  return out;
}

// Returns whether the network of these runs has caps, but no message between their workers crosses one.
// Returns whether the planned bytes are those that the run will send: a trainer may have a method of its own.
bool sends_as_planned(const Json& row) {
  const Json trainer = row.at("config").value("trainer", Json());
  return !trainer.is_object() || !trainer.contains("method");
}

bool avoids_all_caps(const Json& row) {
  if (!sends_as_planned(row)) return false;
  const Json& config = row.at("config");
  const Json links = config.value(Json::json_pointer("/topology/links"), Json::array());
  const bool has_caps = std::ranges::any_of(links, [](const Json& link) { return link.contains("rate"); });
  return has_caps && row.at("workers") > 1 && !row.at("plan").is_null() &&
         row.at("prediction").at("exchange_time_per_iteration_s").is_null();
}

std::string verdict(const Json& row) {
  if (!row.at("missing").empty()) return "missing, see below";
  const Json& prediction = row.at("prediction");
  if (prediction.at("memory_bytes").is_null()) return "-";
  const Json& why = prediction.at("machine_shortfall");
  return why.is_null() ? "can carry it" : why.get<std::string>();
}

}  // namespace

Json plan_rows(const std::vector<Run>& runs, const CostOf& cost_of, const Machine& machine) {
  Json rows = Json::array();
  for (const Run& run : runs) {
    Json labels = Json::object();
    for (const auto& [axis, label] : run.labels) labels[axis] = label;
    rows.push_back({{"run_id", run.id_is_final() ? Json(run.id) : Json(nullptr)},
                    {"label", run.label},
                    {"labels", labels},
                    {"config", whole_config(run)},
                    {"workers", run.workers},
                    {"plan", described_plan(run)},
                    {"missing", missing_of(run)},
                    {"sent_bytes_per_iteration",
                     run.training->plan.is_null() ? Json(nullptr) : Json(sent_bytes_per_iteration(run))},
                    {"prediction", predict(run, cost_of(run), machine)}});
  }
  return rows;
}

std::string format_plan(const Json& rows) {
  std::vector<std::vector<std::string>> table;
  for (const Json& row : rows) {
    const Json& plan = row.at("plan");
    const Json& prediction = row.at("prediction");
    const auto planned = [&plan](const char* key) { return plan.is_null() ? Json(nullptr) : plan.at(key); };
    const Json& id = row.at("run_id");
    table.push_back({row.at("label").get<std::string>(), id.is_null() ? "-" : id.get<std::string>(),
                     fmt::format("{}", row.at("workers").get<std::int64_t>()),
                     cell(planned("iterations"), whole_number), cell(planned("gradient_bytes"), format_bytes),
                     sends_as_planned(row) ? cell(row.at("sent_bytes_per_iteration"), format_bytes) : "-",
                     cell(prediction.at("exchange_time_per_iteration_s"), format_time),
                     cell(prediction.at("iteration_time_s"), format_time),
                     cell(prediction.at("train_time_s"), format_duration),
                     cell(prediction.at("memory_bytes"), format_bytes), verdict(row)});
  }
  std::string out = format_table({"run", "id", "workers", "iterations", "gradient", "sent/iteration",
                                  "exchange", "iteration", "train time", "memory", "this machine"},
                                 table);
  out +=
      "Exchange: lower bound on communication time per iteration, set by the slowest capped link. "
      "Methods that merge entries common to several workers can be faster.\n";
  const auto any = [&rows](const auto& condition) { return std::ranges::any_of(rows, condition); };
  if (const auto count = std::ranges::count_if(rows, avoids_all_caps); count > 0) {
    out += fmt::format(
        "{} of {} runs cross no capped link: their workers, on the topology's first hosts, reach each other without "
        "one. Use more workers or another topology.\n",
        count, rows.size());
  }
  if (any([](const Json& row) { return !row.at("prediction").at("iteration_time_s").is_null(); })) {
    out +=
        "Iteration: predicted from this exchange, overlapped with the compute of the run's compute profile or, "
        "without one, with compute measured just now on this machine and shared by all workers.\n";
  }
  if (any([](const Json& row) { return row.at("prediction").at("caps_change").get<bool>(); })) {
    out +=
        "If \"network_events\" or \"rate_trace\" change the network, both hold for the caps of the topology "
        "before any change.\n";
  }
  if (any([](const Json& row) { return !row.at("prediction").at("left_out").empty(); }))
    out += "The predictions ignore \"cross_traffic\" and \"worker_events\".\n";
  return out + format_missing(rows);
}

}  // namespace thinpipe
