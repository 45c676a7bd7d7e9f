// SPDX-License-Identifier: Apache-2.0
// Option structs. A visit() function states each member's key, default, unit, rule and effect once. The
// strict reader, the writer (all fields, defaults included) and the documentation are derived from it.
//
//   struct TopKOptions {
//     double ratio = 0.01;
//     void visit(auto& field) {
//       field("ratio", ratio, Rule{.effect = "kept fraction of a bucket's entries", .above = 0});
//     }
//   };
//
// A struct with a constant `shorthand` may also be written as a string, which stands for the field of that
// key: "restart" for {"action": "restart"}.
#pragma once

#include "common/support/json_object.hh"

namespace thinpipe {

struct OptionWriter;

template <class T>
concept OptionStruct = requires(T options, OptionWriter& writer) {
  options.visit(writer);
};

template <class T>
concept HasShorthand = OptionStruct<T> && requires {
  T::shorthand;
};

struct OptionReader {
  JsonObject& object;

  template <class T>
  void operator()(std::string_view key, T& member, const Rule& rule) {
    object.read(key, member, rule);
  }
};

struct OptionWriter {
  Json out = Json::object();

  template <class T>
  void operator()(std::string_view key, const T& member, const Rule& rule);
};

// Makes one entry per field: {"key", "effect", "default", "required", "type", "list", "nullable", "unit",
// "pattern", "above", "at_least", "below", "at_most", "one_of"}.
//   - "type" is "boolean", "integer", "number" or "string"; if "list" is true, it is the elements' type.
//   - A Json member has the type "implementation": it is {"name": …, options…} for another implementation
//     in the same registry.
//   - An object has "options", a list of such entries, instead of "type".
//   - A value of several forms has "any_of", a list of entries without keys, instead of "type".
struct OptionDescriber {
  Json out = Json::array();

  template <class T>
  void operator()(std::string_view key, const T& member, const Rule& rule);
};

// Reads the members of an open object. The caller calls finish(), because it may also read other members,
// such as "name".
template <class Options>
Options read_options(JsonObject& object) {
  Options options;
  OptionReader reader{object};
  options.visit(reader);
  return options;
}

// Reads a whole object. Throws InputError for unknown keys.
template <class Options>
Options read_options(const Json& value, const Place& place) {
  JsonObject object(value, place);
  auto options = read_options<Options>(object);
  object.finish();
  return options;
}

namespace detail {

struct FieldReader {
  std::string_view wanted;
  const Json& value;
  const Place& place;

  template <class T>
  void operator()(std::string_view key, T& member, const Rule& rule) {
    if (key == wanted) read_value(value, place, rule, member);
  }
};

}  // namespace detail

// Reads the field of that key from a value that stands on its own, instead of from an object.
template <OptionStruct T>
void read_field(std::string_view key, const Json& value, const Place& place, T& out) {
  detail::FieldReader reader{key, value, place};
  out.visit(reader);
}

// Lets members, optional members and elements of lists be option structs.
template <OptionStruct T>
void read_value(const Json& value, const Place& place, const Rule& /*rule*/, T& out) {
  if constexpr (HasShorthand<T>) {
    if (value.is_string()) {
      out = T();
      read_field(T::shorthand, value, place, out);
      return;
    }
    if (!value.is_object()) throw InputError(place, "must be a string or an object, but is " + value.dump());
  }
  out = read_options<T>(value, place);
}

template <class Options>
Json write_options(Options options) {
  OptionWriter writer;
  options.visit(writer);
  return writer.out;
}

template <class Options>
Json describe_options() {
  Options options;
  OptionDescriber describer;
  options.visit(describer);
  return describer.out;
}

// Returns `value` with each absent field of `description` (from describe_options) set to its default.
// Converts numbers to the default's kind (integer or floating point), so that each configuration has one
// spelling.
Json fill_defaults(Json value, const Json& description);

namespace detail {

Json write_quantity(Quantity quantity, double value);

template <class T>
Json write_value(const T& value, const Rule& rule) {
  if constexpr (OptionStruct<T>) {
    return write_options(value);
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    if (rule.quantity) return write_quantity(*rule.quantity, static_cast<double>(value));
    return value;
  } else if constexpr (requires { value.has_value(); }) {
    if (value) return write_value(*value, rule);
    return rule.none.empty() ? Json(nullptr) : Json(rule.none);
  } else if constexpr (requires(T list) { list.push_back(value[0]); }) {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Json>) {
      return value;
    } else {
      Json out = Json::array();
      for (const auto& element : value) out.push_back(write_value(element, rule));
      return out;
    }
  } else {
    return value;
  }
}

// Returns the forms of a value that is an object with these options, or a string that stands for one of them.
Json describe_shorthand(const Json& options, std::string_view shorthand);

template <class T>
void describe_type(Json& entry) {
  if constexpr (HasShorthand<T>) {
    entry["any_of"] = describe_shorthand(describe_options<T>(), T::shorthand);
  } else if constexpr (OptionStruct<T>) {
    entry["options"] = describe_options<T>();
  } else if constexpr (std::is_same_v<T, bool>) {
    entry["type"] = "boolean";
  } else if constexpr (std::is_integral_v<T>) {
    entry["type"] = "integer";
  } else if constexpr (std::is_floating_point_v<T>) {
    entry["type"] = "number";
  } else if constexpr (std::is_same_v<T, std::string>) {
    entry["type"] = "string";
  } else if constexpr (std::is_same_v<T, Json>) {
    entry["type"] = "implementation";
  } else if constexpr (requires(T value) { value.has_value(); }) {
    entry["nullable"] = true;
    describe_type<typename T::value_type>(entry);
  } else {
    entry["list"] = true;
    describe_type<typename T::value_type>(entry);
  }
}

// Adds the key and the rule to `entry`, which has the field's type and default.
Json describe_rule(Json entry, std::string_view key, const Rule& rule);

}  // namespace detail

template <class T>
void OptionWriter::operator()(std::string_view key, const T& member, const Rule& rule) {
  out[std::string(key)] = detail::write_value(member, rule);
}

template <class T>
void OptionDescriber::operator()(std::string_view key, const T& member, const Rule& rule) {
  Json entry = Json::object();
  detail::describe_type<T>(entry);
  if constexpr (HasShorthand<T>) {
    entry["required"] = false;
    entry["default"] = write_options(member).at(std::string(T::shorthand));
  } else if constexpr (!OptionStruct<T>) {
    entry["required"] = rule.required;
    if (!rule.required) entry["default"] = detail::write_value(member, rule);
  }
  out.push_back(detail::describe_rule(std::move(entry), key, rule));
}

}  // namespace thinpipe
