#include "harness/schema_file.hh"

#include <fmt/format.h>

#include "harness/data_folder.hh"

namespace thinpipe {

std::string schema_file(const std::string& name) {
  return data_folder() / fmt::format("harness/schema/{}.schema.json", name);
}

}  // namespace thinpipe
