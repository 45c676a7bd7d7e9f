// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/hindsight.hh"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/prediction.hh"
#include "harness/reports/report.hh"

namespace thinpipe {
namespace {

using Records = std::map<std::string, std::vector<Record>>;  // by run id, each in order of start

std::optional<double> compute_time_s(const Record& record) {
  if (!record.iteration_time_s || !record.iteration_time_s->compute) return std::nullopt;
  return record.iteration_time_s->load.value_or(0) + *record.iteration_time_s->compute;
}

// Returns why the run cannot be predicted; nullptr if it can.
const char* obstacle(const Record& record) {
  const auto has = [&record](const char* key) { return !record.config.value(key, Json(nullptr)).is_null(); };
  if (!record.plan || !record.predicted || !*record.predicted) return "its traffic is not known";
  if (has("rate_trace") || has("network_events")) return "its network changed";
  if (has("cross_traffic")) return "other flows competed with its workers";
  if (has("worker_events")) return "its workers were slowed or stopped on purpose";
  if (!(*record.predicted)->exchange_time_s) return "it has no capped link, or its traffic is not known";
  if (!compute_time_s(record)) return "its trainer does not report compute times";
  return nullptr;
}

double workers_per_core(const Record& record) {
  const auto workers = record.config.at("workers").get<double>();
  return std::max(1.0, workers / record.provenance.value("cores", workers));
}

// Adds the prediction to the row.
void predict(const Record& record, const Record* dense, const CodecCosts& costs, Json& row) {
  const bool has_baseline = dense != nullptr && compute_time_s(*dense);
  const double compute_s = compute_time_s(has_baseline ? *dense : record).value();
  const auto workers = record.config.at("workers").get<std::int64_t>();
  const auto codec = costs.of(record.config, *record.plan, workers);
  const double exchange_s = (*record.predicted)->exchange_time_s.value();
  const double codec_s = codec ? workers_per_core(record) * codec->total_s() : 0;
  row["compute_from"] = has_baseline ? dense->run_id : record.run_id;
  row["compute_is_own"] = !has_baseline;
  row["compute_time_s"] = compute_s;
  row["exchange_time_s"] = exchange_s;
  row["encode_decode_s"] = codec ? Json(codec_s) : Json(nullptr);
  row["predicted_iteration_time_s"] = predict_iteration_s(*record.plan, compute_s, exchange_s + codec_s);
}

Json row_of(const Record& record, const Record* dense, const CodecCosts& costs) {
  Json row = {{"run_id", record.run_id},
              {"experiment", record.experiment},
              {"label", record.label},
              {"labels", record.labels},
              {"cap", record.config.value(Json::json_pointer("/bottleneck/rate"), Json(nullptr))},
              {"seed", record.config.value("seed", Json(nullptr))},
              {"synchroniser", record.config.value("synchroniser", Json(nullptr))},
              {"provenance", record.provenance},
              {"fidelity", record.fidelity ? Json(record.fidelity->verdict) : Json(nullptr)},
              {"measured_iteration_time_s", record.iteration_time_s->mean},
              {"not_predicted_because", nullptr},
              {"compute_from", nullptr},
              {"compute_is_own", nullptr},
              {"compute_time_s", nullptr},
              {"exchange_time_s", nullptr},
              {"encode_decode_s", nullptr},
              {"predicted_iteration_time_s", nullptr}};
  if (const char* why = obstacle(record)) {
    row["not_predicted_because"] = why;
  } else {
    predict(record, dense, costs, row);
  }
  return row;
}

// Returns the completed live runs, without their curves.
Records read_live(const std::filesystem::path& results, const Warn& warn) {
  const std::vector<RecordPlace> places = find_records(results);
  std::vector<std::optional<Record>> read(places.size());
  const auto take = [&](std::size_t index, Record record) {
    if (record.mode != "live" || record.status != "completed" || !record.iteration_time_s) return;
    record.curve.clear();
    read[index] = std::move(record);
  };
  Records records;
  for (const std::size_t index : read_records(places, take, warn)) {
    if (read[index]) records[read[index]->run_id].push_back(*std::move(read[index]));
  }
  const auto start = [](const Record& record) { return record.provenance.value("started_at", ""); };
  for (auto& [id, of_run] : records) std::ranges::stable_sort(of_run, {}, start);
  return records;
}

}  // namespace

Json compare_with_records(const std::filesystem::path& results, const CodecCosts& costs, const Warn& warn) {
  const Records records = read_live(results, warn);
  if (records.empty()) {
    throw InputError({results.string(), ""},
                     "has no completed run of mode \"live\", the only ones whose iterations are measured");
  }
  Json rows = Json::array();
  std::map<std::string, std::size_t> taken;  // of a run's records: rows are in order of start, too
  const auto silent = [](const std::string& /*message*/) {};  // the same warnings again
  for (const Json& row : report_of(results, {}, silent).runs) {
    const auto of_run = records.find(row.at("run_id").get<std::string>());
    if (of_run == records.end()) continue;
    const std::size_t number = taken[of_run->first]++;
    if (number >= of_run->second.size()) continue;  // another one is not complete
    const Json baseline = row.value("baseline_dense", Json(nullptr));
    const auto dense = baseline.is_null() ? records.end() : records.find(baseline.get<std::string>());
    rows.push_back(
        row_of(of_run->second[number], dense == records.end() ? nullptr : &dense->second.front(), costs));
  }
  return rows;
}

}  // namespace thinpipe
