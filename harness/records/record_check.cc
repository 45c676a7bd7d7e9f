#include "harness/records/record_check.hh"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "harness/records/curve.hh"

namespace thinpipe {
namespace {

// The rule of a member, and its words in messages.
struct Kind {
  std::string_view name;
  bool (*fits)(const Json& value);
};

bool is_amount(const Json& value) {
  return value.is_number() && value.get<double>() >= 0;
}
bool is_whole(const Json& value) {
  return value.is_number() && value.get<double>() == std::floor(value.get<double>());
}
bool is_count(const Json& value) {
  return is_amount(value) && is_whole(value) && value.get<double>() <= 0x1p53;
}

constexpr Kind version{"an integer of at least 1",
                       [](const Json& value) { return is_whole(value) && value.get<double>() >= 1; }};
constexpr Kind amount_or_null{"a number of at least 0 or null",
                              [](const Json& value) { return value.is_null() || is_amount(value); }};
constexpr Kind count{"an integer from 0 to 2^53", is_count};
constexpr Kind count_or_null{"an integer from 0 to 2^53 or null",
                             [](const Json& value) { return value.is_null() || is_count(value); }};
constexpr Kind amount{"a number of at least 0", is_amount};
constexpr Kind boolean{"true or false", [](const Json& value) { return value.is_boolean(); }};
constexpr Kind text{"a string", [](const Json& value) { return value.is_string(); }};
constexpr Kind array{"an array", [](const Json& value) { return value.is_array(); }};
constexpr Kind object{"an object", [](const Json& value) { return value.is_object(); }};
constexpr Kind object_or_null{"an object or null",
                              [](const Json& value) { return value.is_object() || value.is_null(); }};
constexpr Kind texts{"an object of strings", [](const Json& value) {
                       return value.is_object() && std::ranges::all_of(value, text.fits);
                     }};
constexpr Kind counts{"an object of integers from 0 to 2^53 or null", [](const Json& value) {
                        return value.is_object() && std::ranges::all_of(value, count_or_null.fits);
                      }};
constexpr Kind amounts{"an object of numbers of at least 0 or null", [](const Json& value) {
                         return value.is_object() && std::ranges::all_of(value, amount_or_null.fits);
                       }};
constexpr Kind two_texts{"an array of two strings", [](const Json& value) {
                           return value.is_array() && value.size() == 2 &&
                                  std::ranges::all_of(value, text.fits);
                         }};
constexpr Kind status{"completed, failed or interrupted", [](const Json& value) {
                        return value == "completed" || value == "failed" || value == "interrupted";
                      }};
constexpr Kind mode{"live, converge, replay or simulate", [](const Json& value) {
                      return value == "live" || value == "converge" || value == "replay" ||
                             value == "simulate";
                    }};
constexpr Kind verdict{"faithful or degraded",
                       [](const Json& value) { return value == "faithful" || value == "degraded"; }};

struct Member {
  const char* name;
  Kind kind;
  bool is_required = true;
};
using Members = std::vector<Member>;

// An object, or an array of objects, that may be missing. An object may also be null.
struct Part {
  Json::json_pointer place;
  Members members;
  bool is_list = false;
};

const Members& members_of_records() {
  static const Members members = {{"schema_version", version},
                                  {"run_id", text},
                                  {"status", text},
                                  {"experiment", text},
                                  {"mode", text},
                                  {"label", text},
                                  {"labels", object},
                                  {"error", object_or_null},
                                  {"config", object},
                                  {"plan", object},
                                  {"provenance", object},
                                  {"curve", array},
                                  {"targets", array},
                                  {"traffic", object},
                                  {"train_time_s", amount_or_null},
                                  {"iteration_time_s", object_or_null},
                                  {"fidelity", object_or_null}};
  return members;
}

const std::vector<Part>& parts_of_records() {
  using Pointer = Json::json_pointer;
  static const std::vector<Part> parts = {
      {Pointer(""), {{"status", status}, {"mode", mode}, {"labels", texts}}},
      {Pointer("/error"), {{"kind", text}, {"message", text}}},
      {Pointer("/config/topology/links"), {{"between", two_texts}, {"bottleneck", boolean, false}}, true},
      {Pointer("/targets"),
       {{"reached", boolean}, {"iteration", count_or_null}, {"train_time_s", amount_or_null}},
       true},
      {Pointer("/iteration_time_s"), {{"mean", amount}}},
      {Pointer("/traffic"),
       {{"payload_bytes_per_worker", count},
        {"sent_bytes_per_worker", count},
        {"wire_bytes", counts},
        {"utilisation", amounts}}},
      {Pointer("/network_events"), {{"confirmed_s", amount_or_null}}, true},
      {Pointer("/fidelity"), {{"verdict", verdict}, {"checks", array}}},
      {Pointer("/fidelity/checks"), {{"name", text}, {"ok", boolean}}, true}};
  return parts;
}

std::optional<std::string> find_fault_in(const Json& value, const std::string& place,
                                         const Members& members) {
  if (!value.is_object()) return place + " must be an object";
  for (const auto& [name, kind, is_required] : members) {
    const auto member = value.find(name);
    const bool is_missing = member == value.end();
    if (is_missing ? is_required : !kind.fits(*member)) {
      return fmt::format("{}/{} {}must be {}", place, name, is_missing ? "is missing; it " : "", kind.name);
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_fault_in(const Json& record, const Part& part) {
  if (!record.contains(part.place)) return std::nullopt;
  const Json& value = record.at(part.place);
  const std::string place = part.place.to_string();
  if (!part.is_list) return value.is_null() ? std::nullopt : find_fault_in(value, place, part.members);
  if (!value.is_array()) return place + " must be an array";
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (auto fault = find_fault_in(value[i], fmt::format("{}/{}", place, i), part.members)) return fault;
  }
  return std::nullopt;
}

}  // namespace

bool is_record(const Json& value) {
  return value.is_object() && !find_fault_in(value, "", members_of_records());
}

std::optional<std::string> find_fault(const Json& record) {
  for (const Part& part : parts_of_records()) {
    if (auto fault = find_fault_in(record, part)) return fault;
  }
  if (record.at("status") == "failed" && record.at("error").is_null())
    return "/error must be an object, because the run failed";
  try {
    read_curve(record.at("curve"));
  } catch (const InputError& error) {
    return fmt::format("{} {}", error.place().pointer, error.message());
  }
  return std::nullopt;
}

}  // namespace thinpipe
