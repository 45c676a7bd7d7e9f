#include "harness/commands/plan_table.hh"

#include <algorithm>

#include <fmt/format.h>

#include "harness/prediction.hh"
#include "harness/progress.hh"
#include "harness/table.hh"

namespace thinpipe {
namespace {

Json predict(const Run& run, const std::optional<ComputeCost>& cost, const Machine& machine) {
  const auto iterations = run.plan.at("iterations").get<double>();
  const auto exchange = predict_exchange(run);
  Json out = {{"slowest_link", nullptr},
              {"wire_bytes_per_iteration", nullptr},
              {"exchange_time_per_iteration_s", nullptr},
              {"exchange_time_s", nullptr},
              {"caps_change", !run.schedule.empty()},
              {"compute_time_alone_s", nullptr},
              {"iteration_time_s", nullptr},
              {"train_time_s", nullptr},
              {"memory_bytes", nullptr},
              {"network_cores", nullptr},
              {"machine_lacks", nullptr}};
  if (exchange) {
    out["slowest_link"] = exchange->link;
    out["wire_bytes_per_iteration"] = exchange->wire_bytes_per_iteration;
    out["exchange_time_per_iteration_s"] = exchange->time_s;
    out["exchange_time_s"] = exchange->time_s * iterations;
  }
  if (!cost) return out;
  const Demand demand = demand_of(run, *cost, machine);
  out["compute_time_alone_s"] = cost->compute_s;
  out["iteration_time_s"] = demand.iteration_s;
  out["train_time_s"] = demand.iteration_s * iterations;
  out["memory_bytes"] = demand.memory_bytes;
  out["network_cores"] = demand.network_cores;
  if (const auto why = lacks(demand, run.workers, machine)) out["machine_lacks"] = *why;
  return out;
}

template <class Format>
std::string cell(const Json& value, const Format& format) {
  return value.is_null() ? "-" : format(value.get<double>());
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.1f} ms", 1000 * seconds);
}

std::string verdict(const Json& prediction) {
  if (prediction.at("iteration_time_s").is_null()) return "-";
  const Json& why = prediction.at("machine_lacks");
  return why.is_null() ? "can carry it" : why.get<std::string>();
}

}  // namespace

Json plan_rows(const std::vector<Run>& runs, const CostOf& cost_of, const Machine& machine) {
  Json rows = Json::array();
  for (const Run& run : runs) {
    Json labels = Json::object();
    for (const auto& [axis, label] : run.labels) labels[axis] = label;
    rows.push_back({{"run_id", run.id},
                    {"label", run.label},
                    {"labels", labels},
                    {"config", run.config},
                    {"workers", run.workers},
                    {"plan", run.plan},
                    {"sent_bytes_per_iteration", sent_bytes_per_iteration(run)},
                    {"prediction", predict(run, cost_of(run), machine)}});
  }
  return rows;
}

std::string format_plan(const Json& rows) {
  std::vector<std::vector<std::string>> table;
  for (const Json& row : rows) {
    const Json& plan = row.at("plan");
    const Json& prediction = row.at("prediction");
    const Json trainer = row.at("config").value("trainer", Json(nullptr));
    const bool sends_as_planned = !trainer.is_object() || !trainer.contains("method");
    table.push_back({row.at("label").get<std::string>(), row.at("run_id").get<std::string>(),
                     fmt::format("{}", row.at("workers").get<std::int64_t>()),
                     fmt::format("{}", plan.at("iterations").get<std::int64_t>()),
                     format_bytes(plan.at("gradient_bytes").get<double>()),
                     sends_as_planned ? format_bytes(row.at("sent_bytes_per_iteration").get<double>()) : "-",
                     cell(prediction.at("exchange_time_per_iteration_s"), milliseconds),
                     cell(prediction.at("iteration_time_s"), milliseconds),
                     cell(prediction.at("train_time_s"), format_duration),
                     cell(prediction.at("memory_bytes"), format_bytes), verdict(prediction)});
  }
  std::string out = format_table({"run", "id", "workers", "iterations", "gradient", "sent/iteration",
                                  "exchange", "iteration", "train time", "memory", "this machine"},
                                 table);
  out += "Exchange: the least time of an iteration's that the slowest capped link allows.\n";
  const auto any = [&rows](const auto& condition) { return std::ranges::any_of(rows, condition); };
  if (any([](const Json& row) { return !row.at("prediction").at("iteration_time_s").is_null(); })) {
    out +=
        "Iteration: predicted from computing measured on this machine now, shared by all workers, and from "
        "that exchange, overlapped.\n";
  }
  if (any([](const Json& row) { return row.at("prediction").at("caps_change").get<bool>(); })) {
    out +=
        "Where \"network_events\" or \"rate_trace\" change the network, they hold for the caps of the "
        "topology, before any change.\n";
  }
  return out;
}

}  // namespace thinpipe
