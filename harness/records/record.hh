// Records on disk: results/<experiment>/<run_id>/run.json.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/support/atomic_file.hh"
#include "common/support/json_object.hh"

namespace thinpipe {

inline constexpr int record_schema_version = 1;

// Returns the text of a record. Bytes that are not UTF-8, such as in lines of a log, are replaced.
std::string record_text(const Json& record);

// Reads one record. Returns nullopt if the file is missing or not a whole record. Throws Error if its schema
// version is newer.
std::optional<Json> find_record(const std::filesystem::path& path);

using Warn = std::function<void(const std::string& message)>;
void warn_on_standard_error(const std::string& message);

// Returns the records in `folder` (<run_id>/run.json) and one level further down
// (<experiment>/<run_id>/run.json). Throws InputError unless it is a folder.
std::vector<std::filesystem::path> find_records(const std::filesystem::path& folder);

}  // namespace thinpipe
