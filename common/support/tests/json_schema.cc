// SPDX-License-Identifier: Apache-2.0
#include "common/support/tests/json_schema.hh"

#include <functional>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "common/support/tests/paths.hh"

namespace thinpipe {

struct JsonSchema::Parsed {
  valijson::Schema schema;
};

JsonSchema::JsonSchema(const Json& text) : parsed_(std::make_unique<Parsed>()) {
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(text), parsed_->schema);
}

JsonSchema::~JsonSchema() = default;

std::vector<std::string> JsonSchema::violations(const Json& value) const {
  // Strong types: 1 is not a string, and "1" is not a number.
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  std::vector<std::string> out;
  if (validator.validate(parsed_->schema, valijson::adapters::NlohmannJsonAdapter(value), &results))
    return out;
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    out.push_back(fmt::format("{}: {}", fmt::join(error.context, ""), error.description));
  }
  return out;
}

const JsonSchema& published_schema(std::string_view name) {
  static std::map<std::string, JsonSchema, std::less<>> read;
  auto found = read.find(name);
  if (found == read.end()) {
    const std::string path = source_path(fmt::format("harness/schema/{}.schema.json", name));
    found = read.try_emplace(std::string(name), parse_json_file(path)).first;
  }
  return found->second;
}

}  // namespace thinpipe
