// Where the published JSON Schemas are.
#pragma once

#include <string>

namespace thinpipe {

// The path of "experiment"'s schema, or "topology"'s.
std::string schema_file(const std::string& name);

}  // namespace thinpipe
