// SPDX-License-Identifier: Apache-2.0
// A JSON value as simdjson holds it. Reports read thousands of records; making nlohmann's values of their texts, with an
// allocation for each, took most of the time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "common/support/json_object.hh"

namespace thinpipe {

// Refers to the parser's memory. The members are those of Json's that reading needs; get() and those that iterate
// require the type.
class ParsedJson {
 public:
  explicit ParsedJson(simdjson::dom::element element) : element_(element) {}

  bool is_null() const { return element_.is_null(); }
  bool is_boolean() const { return element_.is_bool(); }
  bool is_number() const { return element_.is_number(); }
  bool is_string() const { return element_.is_string(); }
  bool is_array() const { return element_.is_array(); }
  bool is_object() const { return element_.is_object(); }

  template <class T>
  T get() const {
    if constexpr (std::same_as<T, std::string>)
      return std::string(std::string_view(element_));
    else
      return T(element_);
  }

  simdjson::dom::array elements() const { return element_; }
  simdjson::dom::object members() const { return element_; }
  std::size_t size() const { return is_array() ? elements().size() : members().size(); }

  // Returns an object's member. Of several with one name the last counts, as for Json.
  std::optional<ParsedJson> find(std::string_view name) const;

  Json to_json() const;

 private:
  simdjson::dom::element element_;
};

// Parses one text after another. A value is valid until the next.
class JsonParser {
 public:
  JsonParser();

  // Returns nullopt if the text is not JSON, is nested deeper than max_json_depth, or has integers of more than 64
  // bits, which Json accepts.
  std::optional<ParsedJson> parse(const std::string& text);

 private:
  simdjson::dom::parser parser_;
};

}  // namespace thinpipe
