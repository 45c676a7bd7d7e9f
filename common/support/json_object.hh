// SPDX-License-Identifier: Apache-2.0
// Strict reading of JSON objects: members are read by name, and finish() refuses every member that was not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/support/exception.hh"
#include "common/support/units.hh"

namespace thinpipe {

using Json = nlohmann::json;
// Keeps members in the order in which they were written.
using OrderedJson = nlohmann::ordered_json;

// Limit on nesting, which no valid file comes near: nlohmann's parser accepts any depth, but copies and
// prints by recursion.
inline constexpr int max_json_depth = 100;

// For Json::parse(text, shallow): drops values that are nested deeper than max_json_depth.
inline constexpr auto shallow = [](int depth, Json::parse_event_t /*event*/, const Json& /*parsed*/) {
  return depth <= max_json_depth;
};

// The constraints on a value, and its effect. Used to check input, and printed by `thinpipe list`.
struct Rule {
  std::string_view effect = {};           // one line for the user
  std::optional<Quantity> quantity = {};  // written as a string with a unit
  std::optional<double> above = {};       // value >  above
  std::optional<double> at_least = {};    // value >= at_least
  std::optional<double> below = {};       // value <  below
  std::optional<double> at_most = {};     // value <= at_most
  std::vector<std::string> one_of = {};   // the valid names
  // For a string that names a file: the names of bundled files. A path, which has an extension, is also
  // valid. The reader of the file, not this rule, checks that it exists.
  std::vector<std::string> file_names = {};
  std::string_view none = {};  // for an optional value: the word for "no value"; empty: null
  bool required = false;
};

// Each converts `value`, found at `place`, or throws InputError with the place, the rule and the remedy.
void read_value(const Json& value, const Place& place, const Rule& rule, double& out);
void read_value(const Json& value, const Place& place, const Rule& rule, std::int64_t& out);
void read_value(const Json& value, const Place& place, const Rule& rule, int& out);
void read_value(const Json& value, const Place& place, const Rule& rule, bool& out);
void read_value(const Json& value, const Place& place, const Rule& rule, std::string& out);
// Accepts an object with any members, for a registry to read.
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

  // Returns the member, or nullptr if it is absent. Makes `key` a known name.
  const Json* find(std::string_view key);

  // Returns the member; throws InputError if it is absent.
  const Json& get(std::string_view key);

  // Reads the member into `out`. If it is absent, leaves `out` as it is, or throws InputError if the rule
  // requires it.
  template <class T>
  void read(std::string_view key, T& out, const Rule& rule = {}) {
    const Json* member = rule.required ? &get(key) : find(key);
    if (member != nullptr) read_value(*member, place_of(key), rule, out);
  }

  // Throws InputError, with its current name or the nearest known one, for the first member that was not read.
  // "$schema" and members beginning with "//" (comments) are always allowed.
  void finish() const;

 private:
  // Returns the ending of an error about a missing member: the one that may be meant, if nobody has read it.
  std::string misspelling_of(std::string_view key) const;

  const Json& value_;
  Place place_;
  std::vector<std::string> known_;
};

// Returns the content of a file that the user names. Throws InputError if it cannot be read.
std::string read_input_file(const std::string& path);

// Parses a file; syntax errors become InputError with line and column.
Json parse_json_file(const std::string& path);
Json parse_json(std::string_view text, const std::string& file);

}  // namespace thinpipe
