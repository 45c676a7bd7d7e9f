// SPDX-License-Identifier: Apache-2.0
#include "harness/tests/record_schema.hh"

#include "common/support/tests/json_schema.hh"
#include "common/support/tests/paths.hh"

namespace thinpipe {
namespace {

// Forbids other members in each schema that describes an object's members, unless it states otherwise. Conditions
// have no "type": they describe only the members to which they apply.
Json closed(Json schema) {
  if (!schema.is_structured()) return schema;
  for (Json& part : schema) part = closed(part);
  if (schema.is_object() && schema.contains("type") && schema.contains("properties") &&
      !schema.contains("additionalProperties")) {
    schema["additionalProperties"] = false;
  }
  return schema;
}

}  // namespace

std::vector<std::string> record_violations(const Json& record) {
  static const JsonSchema schema(closed(parse_json_file(source_path("harness/schema/record.schema.json"))));
  return schema.violations(record);
}

}  // namespace thinpipe
