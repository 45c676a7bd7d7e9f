// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/shared_folder.hh"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// In mountinfo, spaces and some other characters are octal: \040.
std::string unescaped(std::string_view text) {
  constexpr std::size_t digits = 3;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + digits < text.size() &&
                           text.substr(i + 1, digits).find_first_not_of("01234567") == std::string_view::npos;
    if (is_escape) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, digits)), nullptr, 8));
      i += digits;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool is_within(const fs::path& path, const fs::path& above) {
  return std::ranges::mismatch(above, path).in1 == above.end();
}

bool has_option(const Mount& mount, std::string_view wanted) {
  std::istringstream options(mount.options);
  for (std::string each; std::getline(options, each, ',');) {
    if (each == wanted) return true;
  }
  return false;
}

// Returns the folder, or the first one above it that exists.
fs::path existing(fs::path folder) {
  folder = fs::absolute(folder).lexically_normal();
  while (!fs::is_directory(folder) && folder.has_relative_path()) folder = folder.parent_path();
  return fs::canonical(folder);
}

// Returns whether a lock that is held cannot be held again.
bool lock_excludes(const fs::path& folder) {
  const fs::path file = folder / fmt::format(".thinpipe-doctor-{}", ::getpid());
  const FileDescriptor first = FileDescriptor::open(file, O_RDWR | O_CREAT);
  const FileDescriptor second = FileDescriptor::open(file, O_RDWR);
  fs::remove(file);
  system_call("lock a file in " + folder.string(), ::flock(first.get(), LOCK_EX | LOCK_NB));
  return ::flock(second.get(), LOCK_EX | LOCK_NB) != 0;
}

}  // namespace

// proc(5): id, parent, device, root, mount point, options, any number of further fields, "-", kind, source, options. Later
// mounts hide earlier ones at the same point.
std::optional<Mount> mount_of(const fs::path& path, std::string_view mountinfo) {
  std::optional<Mount> out;
  fs::path longest;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string unused;
    std::string point;
    std::string options;
    words >> unused >> unused >> unused >> unused >> point >> options;
    while (words >> unused && unused != "-") {
    }
    Mount mount;
    std::string source;
    std::string further;
    words >> mount.kind >> source >> further;
    if (!words) continue;
    mount.options = fmt::format("{},{}", options, further);
    const fs::path at = unescaped(point);
    const bool is_nearer =
        std::distance(at.begin(), at.end()) >= std::distance(longest.begin(), longest.end());
    if (!is_within(path, at) || !is_nearer) continue;
    longest = at;
    out = std::move(mount);
  }
  return out;
}

std::string why_locks_are_local(const Mount& mount) {
  if (mount.kind.starts_with("nfs")) {
    for (const char* option : {"nolock", "local_lock=all", "local_lock=flock"}) {
      if (has_option(mount, option)) return fmt::format("{} is mounted with {}", mount.kind, option);
    }
  }
  if (mount.kind == "lustre" && !has_option(mount, "flock")) return "lustre is mounted without flock";
  return "";
}

Finding examine_shared_folder(const fs::path& folder,
                              const std::function<bool(const fs::path&)>& needs_leases) {
  Finding finding{.name = "locks"};
  try {
    const fs::path place = existing(folder);
    const auto mount = mount_of(place, read_file("/proc/self/mountinfo"));
    const std::string kind = mount ? mount->kind : "an unknown file system";
    const std::string reason = mount ? why_locks_are_local(*mount) : "";
    if (needs_leases(place)) {
      finding.ok = true;
      finding.found = fmt::format(
          "in {}, on {}, there is no flock: runs are locked by files that their controllers touch every few seconds",
          place.string(), kind);
    } else if (!lock_excludes(place)) {
      finding.found = fmt::format("in {}, on {}, a file was locked twice", place.string(), kind);
    } else if (!reason.empty()) {
      finding.found = fmt::format("in {} they hold on one machine only: {}", place.string(), reason);
    } else {
      finding.ok = true;
      finding.found = fmt::format("in {}, on {}, a file cannot be locked twice", place.string(), kind);
    }
  } catch (const std::exception& error) {
    finding.found = error.what();
  }
  if (!finding.ok)
    finding.remedy =
        "mount the folder so that flock(2) works between machines (NFS without nolock and local_lock, Lustre with flock), "
        "set THINPIPE_LOCKS=files for all commands that use it, "
        "or let only one command at a time execute runs there";
  return finding;
}

}  // namespace thinpipe
