#include "harness/reports/origin.hh"

#include <algorithm>

#include <fmt/format.h>

namespace thinpipe {
namespace {

const char* const unknown = "unknown";

std::string text(const Json& record, const char* pointer) {
  const Json value = record.value(Json::json_pointer(pointer), Json(nullptr));
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
  const bool dirty = record.value(Json::json_pointer("/provenance/dirty"), Json(nullptr)) == true;
  return text(record, "/provenance/git_commit").substr(0, 10) + (dirty ? " + uncommitted changes" : "");
}

// With the names of the checks that failed.
std::string fidelity(const Json& record, const Json& row) {
  std::string out = fidelity_text(row);
  std::vector<std::string> failed;
  for (const Json& check : record.value(Json::json_pointer("/fidelity/checks"), Json::array())) {
    if (!check.at("ok").get<bool>()) failed.push_back(check.at("name").get<std::string>());
  }
  return failed.empty() ? out : fmt::format("{}: {}", out, fmt::join(failed, "; "));
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

// Why a run has no result. A record says so in its error; an interrupted one has none.
std::string reason(const Json& row) {
  const auto status = row.at("status").get<std::string>();
  const Json& error = row.at("error");
  return error.is_object() ? fmt::format("{}: {}", status, error.value("message", unknown)) : status;
}

}  // namespace

Origin origin_of(const std::vector<Json>& records, const Json& rows) {
  Origin origin;
  origin.table.columns.push_back({"method", "the run's values on the swept axes"});
  origin.table.rows.resize(records.size());
  const bool with_experiment = several_experiments(rows);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string name = name_of(rows[i], with_experiment);
    origin.table.rows[i].push_back({name});
    if (rows[i].at("status") != "completed")
      origin.incomplete.push_back(fmt::format("{}: {}", name, reason(rows[i])));
  }
  for (const Fact& fact : facts) {
    std::vector<std::string> values;
    for (const Json& record : records) values.push_back(fact.of(record));
    if (records.size() > 1 && std::ranges::count(values, values.front()) == std::ssize(values)) {
      origin.common.emplace_back(fact.name, values.front());
      continue;
    }
    origin.table.columns.push_back({fact.name, ""});
    for (std::size_t i = 0; i < records.size(); ++i) origin.table.rows[i].push_back({values[i]});
  }
  origin.table.columns.push_back({"fidelity", "whether the emulated network did as it was told"});
  for (std::size_t i = 0; i < records.size(); ++i)
    origin.table.rows[i].push_back({fidelity(records[i], rows[i])});
  return origin;
}

}  // namespace thinpipe
