// SPDX-License-Identifier: Apache-2.0
// A full disk is no failure of the run that meets it: a record of one would keep the next start from repeating the run.
#pragma once

#include <cerrno>
#include <exception>
#include <system_error>

namespace thinpipe {

// The kind of the Failure that a worker reports in this case.
inline constexpr const char* full_disk_kind = "full_disk";

inline bool is_full_disk(const std::exception& error) {
  const auto* const of_system = dynamic_cast<const std::system_error*>(&error);
  return of_system != nullptr && (of_system->code().value() == ENOSPC || of_system->code().value() == EDQUOT);
}

}  // namespace thinpipe
