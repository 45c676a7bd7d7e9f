#include "netem/tests/topology_schema.hh"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace thinpipe::netem {

Json topology_schema() {
  return parse_json_file(THINPIPE_SOURCE_DIR "/harness/schema/topology.schema.json");
}

std::vector<std::string> schema_violations(const Json& topology) {
  const Json text = topology_schema();
  valijson::Schema schema;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(text), schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  std::vector<std::string> violations;
  if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(topology), &results))
    return violations;
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    violations.push_back(fmt::format("{}: {}", fmt::join(error.context, ""), error.description));
  }
  return violations;
}

}  // namespace thinpipe::netem
