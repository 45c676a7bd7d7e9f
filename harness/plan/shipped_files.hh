// Files that come with thinpipe, which experiments name shortly, beside files of their own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/support/exception.hh"

namespace thinpipe {

class ShippedFiles {
 public:
  // `what` they are, in errors; `folder`: below the data folder; `ending`: with its dot.
  ShippedFiles(std::string what, const std::filesystem::path& folder, std::string ending);

  std::vector<std::string> names() const;

  // A shipped file by its name, or one of the user's by a path with an ending, from `from`. Throws InputError
  // at `place`.
  std::filesystem::path find(const std::string& name, const std::filesystem::path& from,
                             const Place& place) const;

 private:
  std::string what_;
  std::filesystem::path folder_;
  std::string ending_;
};

const ShippedFiles& shipped_topologies();
const ShippedFiles& shipped_rate_traces();
// Programs that train in thinpipe-trainer's place.
const ShippedFiles& shipped_trainers();
// And descriptions of devices (common/protocol/device.hh), for which profiles are estimated.
const ShippedFiles& shipped_compute_profiles();

}  // namespace thinpipe
