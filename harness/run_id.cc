#include "harness/run_id.hh"

#include <fmt/format.h>
#include <xxhash.h>

namespace thinpipe {

std::string content_hash(std::string_view bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

std::string run_id(const Json& normalised_config) {
  Json decisive = normalised_config;
  if (const auto topology = decisive.find("topology"); topology != decisive.end() && topology->is_object()) {
    topology->erase("name");
    topology->erase("description");
  }
  if (const auto trace = decisive.find("rate_trace"); trace != decisive.end() && trace->is_object()) {
    trace->erase("file");  // its content is named by a hash
  }
  return content_hash(decisive.dump());  // Json keeps its keys sorted
}

}  // namespace thinpipe
