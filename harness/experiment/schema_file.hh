// Where the published JSON Schemas are.
#pragma once

#include <string>

namespace thinpipe {

// Returns the path of the schema "experiment" or "topology".
std::string schema_file(const std::string& name);

}  // namespace thinpipe
