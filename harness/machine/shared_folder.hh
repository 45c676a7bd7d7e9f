// SPDX-License-Identifier: Apache-2.0
// Whether locks in a folder hold between machines, so that several can execute runs of one experiment.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "harness/machine/doctor.hh"

namespace thinpipe {

// The file system of a folder.
struct Mount {
  std::string kind = {};     // such as "ext4" or "nfs4"
  std::string options = {};  // of this mount and of the file system, separated by commas

  bool operator==(const Mount&) const = default;
};

// Returns the mount of an absolute path; nullopt if there is none. `mountinfo`: as in /proc/self/mountinfo.
std::optional<Mount> mount_of(const std::filesystem::path& path, std::string_view mountinfo);

// Returns why locks on this file system hold on one machine only; empty if they do not.
std::string why_locks_are_local(const Mount& mount);

// Tries to hold a lock twice in the folder, or in the first folder above it that exists, and reads how it is mounted.
// `needs_leases`: returns whether controllers lock runs there without flock(2).
Finding examine_shared_folder(const std::filesystem::path& folder,
                              const std::function<bool(const std::filesystem::path&)>& needs_leases);

}  // namespace thinpipe
