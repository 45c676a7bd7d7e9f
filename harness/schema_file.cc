#include "harness/schema_file.hh"

#include <fmt/format.h>

namespace thinpipe {

std::string schema_file(const std::string& name) {
  return fmt::format("{}/harness/schema/{}.schema.json", THINPIPE_DATA_DIR, name);
}

}  // namespace thinpipe
