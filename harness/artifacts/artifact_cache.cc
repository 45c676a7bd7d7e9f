// SPDX-License-Identifier: Apache-2.0
#include "harness/artifacts/artifact_cache.hh"

#include "harness/records/lock_file.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// Removes the temporary files of a writer that was killed: ".NAME…PID.tmp".
void remove_leftovers(const fs::path& folder, const std::string& name) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    if (file.ends_with(".tmp") && file.starts_with("." + name)) fs::remove(entry.path());
  }
}

}  // namespace

std::optional<fs::path> ArtifactCache::missing(const std::string& file) const {
  fs::path path = folder_ / file;
  return fresh_ || !fs::exists(path) ? std::optional(std::move(path)) : std::nullopt;
}

std::variant<Json, Outcome> ArtifactCache::get_or_build(const std::string& name, Progress& progress,
                                                        const Find& find, const Build& build) {
  const std::optional<Json> before = find();
  const bool trusted = !fresh_ || built_.contains(name);
  if (trusted && before) return *before;

  fs::create_directories(folder_);
  const fs::path lock_path = folder_ / (name + ".lock");
  const auto lock = LockFile::wait_for(lock_path, [&] {
    progress.wait("waiting for " + what_ + " from " + LockFile::holder(lock_path));
    return stop_.requested();
  });
  if (!lock) return Outcome{Outcome::Status::interrupted};
  // The lock's last holder may have built it.
  if (const auto now = find(); now && now != before) {
    built_.insert(name);
    return *now;
  }
  remove_leftovers(folder_, name);
  auto built = build();
  if (std::holds_alternative<Json>(built)) built_.insert(name);
  return built;
}

}  // namespace thinpipe
