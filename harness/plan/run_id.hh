// SPDX-License-Identifier: Apache-2.0
// Hashes of content: xxh3-64, as 16 hexadecimal digits.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "common/support/json_object.hh"

namespace thinpipe {

std::string content_hash(std::string_view bytes);

// Returns the hash of a file's bytes. Throws SystemError naming the path.
std::string content_hash_of_file(const std::filesystem::path& path);

// Returns the part of a normalised configuration that decides a run's outcome. Leaves out the names of topology
// and trace file, and the patterns of a command's inputs. Replaces paths by hashes of their content; `content` has
// these hashes by the JSON pointer to the path, as in CheckedConfig. Members have their original names
// (RenamedNames).
Json decisive_part(Json normalised_config, const Json& content = Json::object());

// The text of each member of an object, `"key":value`, by its key. Objects are hashed from these texts, so
// that objects with common parts need not be assembled.
using MemberTexts = std::map<std::string, std::string>;
MemberTexts member_texts(const Json& object);

// Returns the id of a run: a hash of its decisive part. The order of keys does not matter.
std::string run_id_of(const MemberTexts& decisive);
std::string run_id(const Json& normalised_config, const Json& content = Json::object());

}  // namespace thinpipe
