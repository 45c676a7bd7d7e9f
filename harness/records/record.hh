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

// The text of a record; bytes that are not UTF-8, as a log may hold, are replaced.
std::string record_text(const Json& record);

// Reads one record; nothing when the file is missing or is no record (cut short, or something else). Throws
// Error when it is of a newer schema version.
std::optional<Json> find_record(const std::filesystem::path& path);

using Warn = std::function<void(const std::string& message)>;
void warn_on_standard_error(const std::string& message);

// The files run.json directly below `folder` (<run_id>/run.json) and one level further
// (<experiment>/<run_id>/run.json). Throws InputError unless it is a folder.
std::vector<std::filesystem::path> find_records(const std::filesystem::path& folder);

}  // namespace thinpipe
