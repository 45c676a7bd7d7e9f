// Files that come with thinpipe. Experiments refer to these by name, and to files of their own by path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/support/exception.hh"

namespace thinpipe {

class ShippedFiles {
 public:
  // `what` is their kind in errors; `folder` is relative to the data folder; `ending` includes the dot.
  ShippedFiles(std::string what, const std::filesystem::path& folder, std::string ending);

  const std::vector<std::string>& names() const { return names_; }

  // Returns a shipped file by its name, or a file of the user's by its path, which has an ending, relative to
  // `from`. Throws InputError at `place`.
  std::filesystem::path find(const std::string& name, const std::filesystem::path& from,
                             const Place& place) const;

 private:
  std::string what_;
  std::filesystem::path folder_;
  std::string ending_;
  std::vector<std::string> names_;
};

const ShippedFiles& shipped_topologies();
const ShippedFiles& shipped_rate_traces();
// External trainers: programs that replace thinpipe-trainer.
const ShippedFiles& shipped_trainers();
// Compute profiles, and devices (common/protocol/device.hh) for which profiles are estimated.
const ShippedFiles& shipped_compute_profiles();

}  // namespace thinpipe
