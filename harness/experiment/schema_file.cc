#include "harness/experiment/schema_file.hh"

#include <fmt/format.h>

#include "harness/experiment/data_folder.hh"

namespace thinpipe {

std::string schema_file(const std::string& name) {
  return data_folder() / fmt::format("harness/schema/{}.schema.json", name);
}

}  // namespace thinpipe
