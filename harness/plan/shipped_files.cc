#include "harness/plan/shipped_files.hh"

#include <algorithm>

#include <fmt/format.h>

#include "common/support/nearest.hh"
#include "harness/experiment/data_folder.hh"

namespace thinpipe {

namespace fs = std::filesystem;

ShippedFiles::ShippedFiles(std::string what, const fs::path& folder, std::string ending)
    : what_(std::move(what)), folder_(data_folder() / folder), ending_(std::move(ending)) {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().extension() == ending_) names_.push_back(entry.path().stem());
  }
  std::ranges::sort(names_);
}

fs::path ShippedFiles::find(const std::string& name, const fs::path& from, const Place& place) const {
  if (fs::path(name).has_extension()) {
    fs::path path = from / name;
    if (!fs::is_regular_file(path)) {
      throw InputError(place, fmt::format("the {} {} does not exist", what_, path.string()));
    }
    return path;
  }
  if (std::ranges::find(names_, name) == names_.end()) {
    throw InputError(place, fmt::format("unknown {} \"{}\"{}, or the path of a {} file", what_, name,
                                        suggestion(name, names_), ending_));
  }
  return folder_ / (name + ending_);
}

const ShippedFiles& shipped_topologies() {
  static const ShippedFiles files("topology", "topologies", ".json");
  return files;
}

const ShippedFiles& shipped_rate_traces() {
  static const ShippedFiles files("rate trace", "topologies/traces", ".csv");
  return files;
}

const ShippedFiles& shipped_trainers() {
  static const ShippedFiles files("trainer", "trainer/external", ".py");
  return files;
}

const ShippedFiles& shipped_compute_profiles() {
  static const ShippedFiles files("compute profile", "trainer/profiles", ".json");
  return files;
}

}  // namespace thinpipe
