// SPDX-License-Identifier: Apache-2.0
// A JSON Schema, evaluated by valijson.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

class JsonSchema {
 public:
  explicit JsonSchema(const Json& text);
  ~JsonSchema();

  // Returns the schema violations of a value; empty if it is valid.
  std::vector<std::string> violations(const Json& value) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

// Loads a schema from harness/schema/: "topology".
const JsonSchema& published_schema(std::string_view name);

}  // namespace thinpipe
