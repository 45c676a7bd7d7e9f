// SPDX-License-Identifier: Apache-2.0
// The schema of records against the records of this tree, and against the reader that reports use.
#include "harness/tests/record_schema.hh"

#include <functional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/json_schema.hh"
#include "common/support/tests/paths.hh"
#include "harness/records/record.hh"
#include "harness/reports/digest.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::IsEmpty;
using Pointer = Json::json_pointer;

// Returns the value with at most two elements of each array, so that a record is quickly validated.
Json shortened(Json value) {
  while (value.is_array() && value.size() > 2) value.erase(value.size() - 1);
  if (value.is_structured()) {
    for (Json& member : value) member = shortened(member);
  }
  return value;
}

// Returns a committed record for which `is_wanted` holds.
Json committed(const std::string& experiment, const std::function<bool(const Json& record)>& is_wanted) {
  for (const Json& record : load_records(source_path("results/reference/" + experiment))) {
    if (is_wanted(record)) return shortened(record);
  }
  ADD_FAILURE() << "no record of " << experiment << " is as wanted";
  return nullptr;
}

// Returns the record as if its trainer had been a command.
Json scripted(Json record) {
  for (const char* key : {"model", "dataset", "synchroniser", "pruning", "optimiser"})
    record["config"].erase(key);
  record["config"]["trainer"] = {
      {"command", {"python3", "train.py"}}, {"method", "sketch"},
      {"options", {{"lr", 0.1}}},           {"inputs", {"*.py"}},
      {"inputs_hash", "0123456789abcdef"},  {"curve", {{"iteration", "step ([0-9]+)"}}}};
  record["plan"] = nullptr;
  return record;
}

// Returns records that have, together, every member that the schema describes.
std::vector<Json> various_records() {
  std::vector<Json> records;
  records.push_back(
      committed("variable-bandwidth", [](const Json& record) { return record["mode"] == "live"; }));
  records.push_back(
      committed("replay-against-live", [](const Json& record) { return record["mode"] == "replay"; }));
  records.push_back(
      committed("stragglers", [](const Json& record) { return !record["worker_events"].empty(); }));
  records.push_back(
      committed("replay-against-live", [](const Json& record) { return record["mode"] == "simulate"; }));
  records.back()["config"]["machine"] = {{"costs", "measured"}};
  records.back()["replay"]["machine"] = {{"path", "/results/machines/0123456789abcdef.json"},
                                         {"hash", "0123456789abcdef"},
                                         {"cores", 2.0},
                                         {"workers_per_machine", 8},
                                         {"communication_first", true},
                                         {"core_s_per_message", 2e-5},
                                         {"core_s_per_byte", 1e-9},
                                         {"core_s_per_capped_byte", 4e-9},
                                         {"balancing_s", 0.002}};
  Json failed = committed("quickstart", [](const Json& /*record*/) { return true; });
  const Json failure = {{"kind", "crash"},
                        {"rank", 1},
                        {"message", "it died"},
                        {"exit_status", "signal 9 (Killed)"},
                        {"log_tail", {"last words"}},
                        {"workers", {"worker 0: waits"}}};
  failed.update({{"status", "failed"}, {"error", failure}});
  failed["restarts"] = {{{"failure", failure},
                         {"after_iteration", 7},
                         {"resumed_after_iteration", 0},
                         {"lost_train_time_s", 0.5},
                         {"down_time_s", 0.25}}};
  failed["interruptions"] = {{{"after_iteration", 5},
                              {"train_time_s", 2.5},
                              {"started_at", "2025-03-01T12:34:56.789Z"},
                              {"ended_at", "2025-03-01T12:35:56.789Z"},
                              {"cpu", "a CPU"}}};
  failed["checkpoint"] = {{"after_iteration", 5}, {"path", "0123456789abcdef/interrupted"}};
  failed["network_events"] = {{{"at_s", 1.5},
                               {"clock", "train"},
                               {"link", "bottlenecks"},
                               {"source", "event"},
                               {"requested", {{"delay_s", 0.1}, {"loss", 0.5}, {"state", "down"}}},
                               {"confirmed_s", nullptr},
                               {"confirmed_train_time_s", nullptr},
                               {"applied", nullptr},
                               {"iteration", nullptr},
                               {"train_time_s", nullptr}}};
  const Json delays = {{"count", 2}, {"median_s", 0.5}, {"p99_s", 0.75}, {"max_s", 0.75}};
  failed["train_clock"] = {{"stop_delay", delays}};
  failed["idle_cores"] = {{"kept_awake", true}, {"wakeup_latency", delays}};
  failed["cpu_pressure"] = {{"controller", 0.25}, {"network", nullptr}, {"machine", 0.5}};
  failed["fidelity"]["verdict"] = "not judged";
  failed["fidelity"].update({{"directions", 4}, {"judged_directions", 3}});
  failed["config"]["targets"] = {0.5, {{"bits_per_byte", 2.5}}};
  failed["warnings"] = {"traffic bypassed the network"};
  failed["connections"] = {{{"from", "w0"},
                            {"to", "w1"},
                            {"connections", 2},
                            {"acknowledged_bytes", 1000000},
                            {"retransmitted_segments", 3},
                            {"min_round_trip_s", 0.0001},
                            {"mean_round_trip_s", 0.0005},
                            {"max_round_trip_s", 0.002},
                            {"mean_congestion_window_bytes", 28960.0},
                            {"mean_delivery_rate_bit_per_s", 9.5e7}}};
  const Json rates = {{"pairs_at_a_time", 1},
                      {"bit_per_s", {{0.0, 9e7}, {9e7, 0.0}}},
                      {"round_trips_s", {{0.0, 0.001}, {0.001, 0.0}}}};
  failed["cluster"] = {{"nodes",
                        {{{"host", "w0"},
                          {"node", "node-1"},
                          {"network_interface", "eth0"},
                          {"address", "10.0.0.1"},
                          {"connected_bit_per_s", 1e9}}}},
                       {"before", rates},
                       {"after", rates},
                       {"largest_change", 0.25},
                       {"islands", {{0, 1}}},
                       {"reduction_tree", {-1, 0}}};
  records.push_back(failed);
  records.push_back(scripted(failed));
  return records;
}

// Appends the places of the value and of everything in it.
void append_places(const Json& value, const Pointer& place, std::vector<Pointer>& places) {
  places.push_back(place);
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) append_places(member, place / name, places);
  } else if (value.is_array() && !value.empty()) {
    append_places(value[0], place / 0, places);
  }
}

// Returns the record with another value at the place, or without it, in several ways.
std::vector<Json> mutants(const Json& record, const Pointer& place) {
  std::vector<Json> out;
  for (const Json& value : {Json(nullptr), Json(true), Json("text"), Json(-1), Json(0.5), Json(7),
                            Json(1e300), Json::array(), Json::object()}) {
    out.push_back(record);
    out.back()[place] = value;
  }
  if (record.at(place.parent_pointer()).is_object()) {
    out.push_back(record);
    out.back().at(place.parent_pointer()).erase(place.back());
  }
  return out;
}

// Returns whether the parser refuses all that the schema refuses at the place. Of a configuration, a plan and the
// origin of a run, it checks only members on which reports depend.
bool is_checked(const std::string& place) {
  const auto begins_with = [&place](const std::string& part) { return place.starts_with(part); };
  for (const char* const part : {"/config", "/plan", "/provenance"}) {
    if (begins_with(part)) return begins_with("/config/topology/links");
  }
  return true;
}

// Returns why a reader refuses; empty if it does not.
std::string refusal_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(RecordSchema, DescribesEveryMemberOfTheCommittedRecords) {
  for (const Json& record : load_records(source_path("results/reference"))) {
    EXPECT_THAT(record_violations(record), IsEmpty()) << record["label"];
    EXPECT_EQ(to_json(parse_record(record)), record) << record["label"];
    EXPECT_EQ(parse_record_text(record_text(record), ""), parse_record(record)) << record["label"];
  }
}

// The reader is faster than a validator: a report reads 10,000 records in a few seconds.
TEST(RecordSchema, AgreesWithTheReaderOnRecordsWithAnyMemberReplaced) {
  const JsonSchema& schema = published_schema("record");
  std::set<std::pair<std::string, std::string>>
      replaced;  // by place and type: most are the same in all records
  for (const Json& record : various_records()) {
    ASSERT_THAT(record_violations(record), IsEmpty());
    std::vector<Pointer> places;
    for (const auto& [name, member] : record.items()) append_places(member, Pointer("/" + name), places);
    for (const Pointer& place : places) {
      if (!replaced.emplace(place.to_string(), record.at(place).type_name()).second) continue;
      for (const Json& mutant : mutants(record, place)) {
        const bool is_valid = schema.violations(mutant).empty();
        const std::string refusal = refusal_of([&] { parse_record(mutant); });
        const auto what = [&] {
          return fmt::format("{} is {}", place.to_string(),
                             mutant.contains(place) ? mutant.at(place).dump() : "missing");
        };
        // Text has a faster reader, which must agree; it also reads other versions.
        const bool has_text_reader = place.to_string() != "/schema_version";
        if (has_text_reader) {
          EXPECT_EQ(refusal_of([&] { parse_record_text(mutant.dump(), ""); }), refusal) << what();
        }
        if (is_valid) {
          ASSERT_EQ(refusal, "") << what();
          EXPECT_EQ(to_json(parse_record(mutant)), mutant) << what();
          if (has_text_reader) {
            EXPECT_EQ(parse_record_text(mutant.dump(), ""), parse_record(mutant)) << what();
          }
          EXPECT_NO_THROW(digest(parse_record(mutant), {.curve = true, .origin = true})) << what();
        } else if (is_checked(place.to_string())) {
          EXPECT_NE(refusal, "") << what();
        }
      }
    }
  }
}

TEST(RecordSchema, LetsLaterVersionsAddMembers) {
  Json record = various_records().front();
  record["later"] = record["curve"][0]["later"] = 1;
  EXPECT_THAT(published_schema("record").violations(record), IsEmpty());
  EXPECT_THAT(record_violations(record), testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace thinpipe
