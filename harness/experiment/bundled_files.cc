// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/bundled_files.hh"

#include <algorithm>

#include <fmt/format.h>

#include "common/support/nearest.hh"
#include "harness/experiment/data_folder.hh"

namespace thinpipe {

namespace fs = std::filesystem;

BundledFiles::BundledFiles(std::string what, const fs::path& folder, std::string ending)
    : what_(std::move(what)), folder_(data_folder() / folder), ending_(std::move(ending)) {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().extension() == ending_) names_.push_back(entry.path().stem());
  }
  std::ranges::sort(names_);
}

fs::path BundledFiles::find(const std::string& name, const fs::path& from, const Place& place) const {
  if (fs::path(name).has_extension()) {
    fs::path path = from / name;
    if (!fs::is_regular_file(path)) {
      throw InputError(place, fmt::format("the {} {} does not exist", what_, path.string()));
    }
    return path;
  }
  if (std::ranges::find(names_, name) == names_.end()) {
    throw InputError(place, fmt::format("unknown {} \"{}\"{}; or give the path of a {} file", what_, name,
                                        suggestion(name, names_), ending_));
  }
  return folder_ / (name + ending_);
}

const BundledFiles& bundled_experiments() {
  static const BundledFiles files("experiment", "experiments", ".json");
  return files;
}

const BundledFiles& bundled_topologies() {
  static const BundledFiles files("topology", "topologies", ".json");
  return files;
}

const BundledFiles& bundled_rate_traces() {
  static const BundledFiles files("rate trace", "topologies/traces", ".csv");
  return files;
}

const BundledFiles& bundled_trainers() {
  static const BundledFiles files("trainer", "trainer/external", ".py");
  return files;
}

const BundledFiles& bundled_compute_profiles() {
  static const BundledFiles files("compute profile", "trainer/profiles", ".json");
  return files;
}

}  // namespace thinpipe
