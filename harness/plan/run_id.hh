// Names of things by their content: xxh3-64, as 16 hexadecimal digits.
#pragma once

#include <filesystem>
#include <map>
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

// The text of each member of an object, `"key":value`, by its key: objects that are made of the same parts
// are hashed from their parts' texts, without being put together.
using MemberTexts = std::map<std::string, std::string>;
MemberTexts member_texts(const Json& object);

// The identity of a run: a hash of its decisive part. The order of keys does not matter.
std::string run_id_of(const MemberTexts& decisive);
std::string run_id(const Json& normalised_config, const Json& content = Json::object());

}  // namespace thinpipe
