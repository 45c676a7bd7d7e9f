#include "harness/commands/plan_table.hh"

#include <fmt/format.h>

#include "harness/prediction.hh"
#include "harness/progress.hh"
#include "harness/table.hh"

namespace thinpipe {

Json plan_rows(const std::vector<Run>& runs) {
  Json rows = Json::array();
  for (const Run& run : runs) {
    Json labels = Json::object();
    for (const auto& [axis, label] : run.labels) labels[axis] = label;
    Json row = {{"run_id", run.id},     {"label", run.label},     {"labels", labels},
                {"config", run.config}, {"workers", run.workers}, {"plan", run.plan},
                {"prediction", nullptr}};
    const auto sent_bytes = run.plan.at("sent_bytes_per_iteration").get<double>();
    if (const auto prediction = predict(run.topology, run.workers, sent_bytes)) {
      const auto iterations = run.plan.at("iterations").get<double>();
      row["prediction"] = {{"slowest_link", prediction->link},
                           {"wire_bytes_per_iteration", prediction->wire_bytes_per_iteration},
                           {"exchange_time_per_iteration_s", prediction->exchange_time_s},
                           {"exchange_time_s", prediction->exchange_time_s * iterations},
                           {"caps_change", !run.schedule.empty()}};
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string plan_table(const std::vector<Run>& runs) {
  std::vector<std::vector<std::string>> table;
  bool caps_change = false;
  for (const Json& row : plan_rows(runs)) {
    const Json& plan = row.at("plan");
    const Json& prediction = row.at("prediction");
    caps_change = caps_change || (prediction.is_object() && prediction.at("caps_change").get<bool>());
    const auto seconds = [&prediction](const char* field, double factor, const char* unit) {
      return prediction.is_null()
                 ? "-"
                 : fmt::format("{:.1f} {}", factor * prediction.at(field).get<double>(), unit);
    };
    table.push_back(
        {row.at("label").get<std::string>(), row.at("run_id").get<std::string>(),
         fmt::format("{}", row.at("workers").get<std::int64_t>()),
         fmt::format("{}", plan.at("iterations").get<std::int64_t>()),
         format_bytes(plan.at("gradient_bytes").get<double>()),
         format_bytes(plan.at("sent_bytes_per_iteration").get<double>()),
         seconds("exchange_time_per_iteration_s", 1000, "ms"),
         prediction.is_null() ? "-" : format_duration(prediction.at("exchange_time_s").get<double>())});
  }
  return format_table({"run", "id", "workers", "iterations", "gradient", "sent/iteration",
                       "exchange/iteration", "exchange in all"},
                      table) +
         "Exchange times are the least that the slowest capped link allows; compute comes on top where it "
         "does not "
         "overlap.\n" +
         (caps_change
              ? "Where \"network_events\" or \"rate_trace\" change the network, they hold for the caps "
                "of the topology, before any change.\n"
              : "");
}

}  // namespace thinpipe
