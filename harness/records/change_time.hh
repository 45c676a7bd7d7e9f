// SPDX-License-Identifier: Apache-2.0
// When a file was last written or replaced, by the clock of its file system, which may be another machine's. Unlike the
// modification time, neither a copy nor a user can set it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>

namespace thinpipe {

using ChangeTime = std::int64_t;  // nanoseconds
inline constexpr ChangeTime before_all_changes = std::numeric_limits<ChangeTime>::min();

// Returns nullopt if there is no such file.
std::optional<ChangeTime> change_time(const std::filesystem::path& file);

// Returns the present time of the folder's file system; before_all_changes if there is no such folder.
ChangeTime change_time_now(const std::filesystem::path& folder);

}  // namespace thinpipe
