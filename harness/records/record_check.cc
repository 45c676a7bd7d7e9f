#include "harness/records/record_check.hh"

#include <functional>
#include <vector>

#include <fmt/format.h>

namespace thinpipe {
namespace {

// The type of a member, and its name in messages.
struct Kind {
  std::string_view name;
  bool (*fits)(const Json& value);
};

bool is_number(const Json& value) {
  return value.is_number();
}
bool is_number_or_null(const Json& value) {
  return value.is_number() || value.is_null();
}
bool is_share(const Json& value) {
  return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1;
}
bool is_object(const Json& value) {
  return value.is_object();
}
bool is_boolean(const Json& value) {
  return value.is_boolean();
}
bool is_text(const Json& value) {
  return value.is_string();
}

constexpr Kind number{"a number", is_number};
constexpr Kind number_or_null{"a number or null", is_number_or_null};
constexpr Kind share{"a number from 0 to 1", is_share};
constexpr Kind object{"an object", is_object};
constexpr Kind boolean{"true or false", is_boolean};
constexpr Kind text{"a string", is_text};

using Members = std::vector<std::pair<const char*, Kind>>;

std::optional<std::string> find_fault_in(const Json& value, const std::string& place,
                                         const Members& members) {
  if (!value.is_object()) return place + " must be an object";
  for (const auto& [name, kind] : members) {
    const auto member = value.find(name);
    if (member == value.end() || !kind.fits(*member)) {
      return fmt::format("{}/{} {}must be {}", place, name, member == value.end() ? "is missing; it " : "",
                         kind.name);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_fault(const Json& record) {
  static const Members point = {{"iteration", number},
                                {"train_time_s", number_or_null},
                                {"test_accuracy", share},
                                {"test_loss", number_or_null}};
  static const Members target = {
      {"reached", boolean}, {"iteration", number_or_null}, {"train_time_s", number_or_null}};
  static const Members traffic = {{"payload_bytes_per_worker", number},
                                  {"sent_bytes_per_worker", number},
                                  {"wire_bytes", object},
                                  {"utilisation", object}};
  static const std::vector<std::pair<const char*, Members>> parts = {
      {"curve", point},
      {"targets", target},
      {"traffic", traffic},
      {"error", {{"kind", text}, {"message", text}}},
      {"iteration_time_s", {{"mean", number}}},
      {"fidelity", {{"verdict", text}}}};
  for (const auto& [name, members] : parts) {
    const Json& part = record.at(name);
    if (part.is_null()) continue;
    const std::string place = fmt::format("/{}", name);
    if (!part.is_array()) {
      if (auto fault = find_fault_in(part, place, members)) return fault;
      continue;
    }
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (auto fault = find_fault_in(part[i], fmt::format("{}/{}", place, i), members)) return fault;
    }
  }
  return std::nullopt;
}

}  // namespace thinpipe
