// Strict reading of JSON objects: every member is asked for by name, and finish() refuses what nobody asked
// for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/support/exception.hh"
#include "harness/support/units.hh"

namespace thinpipe {

using Json = nlohmann::json;
// With members in the order in which they were written, where that matters.
using OrderedJson = nlohmann::ordered_json;

// Nothing of ours is nested as deep. nlohmann's parser takes any depth, but copies and prints by recursion.
inline constexpr int deepest_json = 100;

// For Json::parse(text, shallow): what is nested deeper is left out.
inline constexpr auto shallow = [](int depth, Json::parse_event_t /*event*/, const Json& /*parsed*/) {
  return depth <= deepest_json;
};

// What a value must satisfy, and what it is for. Used to check input, and printed by `thinpipe list`.
struct Rule {
  std::string_view effect = {};           // one line for the user: what the value does
  std::optional<Quantity> quantity = {};  // written as a string with a unit
  std::optional<double> above = {};       // value >  above
  std::optional<double> at_least = {};    // value >= at_least
  std::optional<double> below = {};       // value <  below
  std::optional<double> at_most = {};     // value <= at_most
  std::vector<std::string> one_of = {};   // the valid names
  std::string_view none = {};             // of an optional value: the word for no value; empty: null
  bool required = false;
};

// Each converts `value`, found at `place`, or throws InputError naming the place, the rule and the remedy.
void read_value(const Json& value, const Place& place, const Rule& rule, double& out);
void read_value(const Json& value, const Place& place, const Rule& rule, std::int64_t& out);
void read_value(const Json& value, const Place& place, const Rule& rule, bool& out);
void read_value(const Json& value, const Place& place, const Rule& rule, std::string& out);
// An object, whatever its members are: for a registry to read.
void read_value(const Json& value, const Place& place, const Rule& rule, Json& out);

template <class T>
void read_value(const Json& value, const Place& place, const Rule& rule, std::vector<T>& out) {
  if (!value.is_array()) throw InputError(place, "must be a list, but is " + value.dump());
  out.resize(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) read_value(value[i], place / i, rule, out[i]);
}

template <class T>
void read_value(const Json& value, const Place& place, const Rule& rule, std::optional<T>& out) {
  if (rule.none.empty() ? value.is_null() : value == rule.none) {
    out.reset();
    return;
  }
  try {
    read_value(value, place, rule, out.emplace());
  } catch (const InputError& error) {
    if (rule.none.empty()) throw;
    throw InputError(error.place(),
                     std::string(error.message()).append("; or \"").append(rule.none).append("\""));
  }
}

class JsonObject {
 public:
  // Throws InputError unless `value` is an object. Keeps a reference: `value` must outlive this.
  JsonObject(const Json& value, Place place);

  const Place& place() const { return place_; }
  Place place_of(std::string_view key) const { return place_ / key; }

  // The member, or nullptr when absent. From now on `key` is a known name here.
  const Json* find(std::string_view key);

  // The member; throws InputError when absent.
  const Json& get(std::string_view key);

  // Reads the member into `out` when present; leaves the default otherwise, unless the rule requires it.
  template <class T>
  void read(std::string_view key, T& out, const Rule& rule = {}) {
    const Json* member = rule.required ? &get(key) : find(key);
    if (member != nullptr) read_value(*member, place_of(key), rule, out);
  }

  // Throws InputError for the first member nobody asked for, with the nearest known name.
  // "$schema" and members beginning with "//" (comments) are always allowed.
  void finish() const;

 private:
  const Json& value_;
  Place place_;
  std::vector<std::string> known_;
};

// Parses a file; syntax errors become InputError with line and column.
Json parse_json_file(const std::string& path);
Json parse_json(std::string_view text, const std::string& file);

}  // namespace thinpipe
