// SPDX-License-Identifier: Apache-2.0
// Invented records for the tests of reports.
#pragma once

#include <optional>
#include <string>

#include "harness/reports/report.hh"

namespace thinpipe {

// A completed run that reaches accuracy 0.8 after `time_s` of its 100 s, or never.
inline Json report_record(const std::string& synchroniser, double pruning_ratio,
                          std::optional<double> time_s) {
  const auto point = [](int iteration, double train_time_s, double accuracy) {
    return Json{{"iteration", iteration}, {"epoch", iteration / 9.0},  {"train_time_s", train_time_s},
                {"train_loss", nullptr},  {"test_loss", 1 - accuracy}, {"test_accuracy", accuracy}};
  };
  Json curve = Json::array({point(0, 0.0, 0.1)});
  if (time_s) curve.push_back(point(5, *time_s, 0.8));
  curve.push_back(point(9, 100.0, 0.79));
  return {{"schema_version", record_schema_version},
          {"run_id", synchroniser},
          {"experiment", "e"},
          {"label", synchroniser},
          {"labels", {{"method", synchroniser}}},
          {"mode", "live"},
          {"status", "completed"},
          {"error", nullptr},
          {"config",
           {{"seed", 1},
            {"workers", 2},
            {"targets", {0.5, 0.8}},
            {"synchroniser", {{"name", synchroniser}}},
            {"pruning", {{"ratio", pruning_ratio}}},
            {"model", {{"name", "mlp"}}},
            {"dataset", {{"name", "synthetic"}}},
            {"topology",
             {{"name", "pair"},
              {"links",
               {{{"between", {"a", "b"}}, {"bottleneck", true}},
                {{"between", {"a", "w0"}}, {"bottleneck", false}}}}}}}},
          {"plan", Json::object()},
          {"provenance",
           {{"git_commit", "0123456789abcdef"},
            {"dirty", false},
            {"kernel", "Linux 6.1"},
            {"cpu", "a processor"},
            {"cores", 2},
            {"gpu", nullptr},
            {"started_at", "2026-01-02T03:04:05.500Z"}}},
          {"limits", {{"stall_timeout_s", 600}}},
          {"initial_weights", nullptr},
          {"curve", curve},
          {"targets", Json::array()},
          {"iterations", 9},
          {"train_time_s", 100.0},
          {"iteration_time_s",
           {{"p50", 0.125},
            {"p90", 0.125},
            {"mean", 0.125},
            {"load", 0},
            {"compute", 0.05},
            {"encode", 0.01},
            {"exchange", 0.06},
            {"exposed_exchange", 0.06},
            {"decode", 0.005}}},
          {"traffic",
           {{"payload_bytes_per_worker", 400000},
            {"sent_bytes_per_worker", 1000000},
            {"wire_bytes", {{"a->b", 1050000}, {"b->a", 1060000}, {"a->w0", 9000000}}},
            {"utilisation", {{"a->b", 0.5}, {"b->a", 0.75}, {"a->w0", 0.9}}}}},
          {"compression", {{"effective_density", 0.5}, {"vnmse", nullptr}}},
          {"pruning", nullptr},
          {"synchroniser", nullptr},
          {"skipped_steps", 0},
          {"memory", {{"peak_bytes_per_worker", {nullptr, nullptr}}}},
          {"parameters", 100},
          {"parameters_hash", nullptr},
          {"fidelity", {{"verdict", "faithful"}, {"checks", Json::array()}}}};
}

// Reads an invented record, whose id tells the test's runs apart and need not be a hash.
inline Record parsed(Json record) {
  const std::string run_id = record.at("run_id");
  record["run_id"] = "0123456789abcdef";
  Record out = parse_record(std::move(record));
  out.run_id = run_id;
  return out;
}

inline Report make_report(const std::vector<Json>& records, const Wanted& wanted = {}) {
  std::vector<Record> all;
  for (const Json& record : records) all.push_back(parsed(record));
  return make_report(all, wanted);
}

// A change of a link that was confirmed at this time; null: it did not happen.
inline Json network_event(const Json& confirmed_s) {
  return {{"at_s", 1},
          {"link", "a-b"},
          {"source", "event"},
          {"requested", {{"state", "up"}}},
          {"applied", nullptr},
          {"iteration", nullptr},
          {"train_time_s", nullptr},
          {"confirmed_s", confirmed_s}};
}

// The rows of a report of these records.
inline Json rows_of(const std::vector<Json>& records, const std::optional<Target>& target = {},
                    const std::vector<std::string>& over = {}) {
  return make_report(records, {.target = target, .over = over}).runs;
}

// One whose worker hung before its first evaluation.
inline Json failed_report_record() {
  Json failed = report_record("topk", 0, std::nullopt);
  failed["status"] = "failed";
  failed["error"] = {{"kind", "hang"}, {"message", "worker 1 hangs"}};
  failed["curve"] = Json::array();
  failed["iteration_time_s"] = nullptr;
  failed["fidelity"] = nullptr;
  return failed;
}

}  // namespace thinpipe
