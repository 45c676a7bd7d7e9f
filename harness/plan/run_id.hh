// Names of things by their content: xxh3-64, as 16 hexadecimal digits.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/support/json_object.hh"

namespace thinpipe {

std::string content_hash(std::string_view bytes);

// Of a file's bytes; throws SystemError naming the path.
std::string content_hash_of_file(const std::filesystem::path& path);

// What decides a run's outcome: its normalised configuration, without what the topology and a trace's file
// are called, and with hashes of what paths lead to instead of the paths. content: those hashes, each under
// the JSON pointer to its path, as CheckedConfig has them.
Json decisive_part(const Json& normalised_config, const Json& content = Json::object());

// The identity of a run: a hash of its decisive part. The order of keys does not matter.
std::string run_id_of(const Json& decisive);
std::string run_id(const Json& normalised_config, const Json& content = Json::object());

}  // namespace thinpipe
