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

bool ArtifactCache::is_new_enough(const fs::path& file) const {
  const std::optional<ChangeTime> built = change_time(file);
  return built && (!since_ || *built > *since_);
}

std::optional<fs::path> ArtifactCache::missing(const std::string& file) const {
  fs::path path = folder_ / file;
  return is_new_enough(path) ? std::nullopt : std::optional(std::move(path));
}

std::variant<Json, Outcome> ArtifactCache::get_or_build(const std::string& name, Progress& progress,
                                                        const Find& find, const Build& build) {
  const fs::path file = folder_ / (name + ".json");
  const auto is_trusted = [&] { return built_.contains(name) || is_new_enough(file); };
  const std::optional<Json> before = find();
  if (before && is_trusted()) return *before;

  fs::create_directories(folder_);
  const fs::path lock_path = folder_ / (name + ".lock");
  const auto lock = LockFile::wait_for(lock_path, [&] {
    progress.wait("waiting for " + what_ + " from " + LockFile::holder(lock_path));
    return stop_.requested();
  });
  if (!lock) return Outcome{Outcome::Status::interrupted};
  // The lock's last holder may have built it.
  if (auto now = find(); now && is_trusted()) return *std::move(now);
  remove_leftovers(folder_, name);
  auto built = build();
  if (std::holds_alternative<Json>(built)) built_.insert(name);
  return built;
}

}  // namespace thinpipe
