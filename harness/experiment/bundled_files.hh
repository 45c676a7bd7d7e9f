// SPDX-License-Identifier: Apache-2.0
// Files that come with thinpipe. Experiments refer to these by name, and to files of their own by path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/support/exception.hh"

namespace thinpipe {

class BundledFiles {
 public:
  // `what` is their kind in errors; `folder` is relative to the data folder; `ending` includes the dot.
  BundledFiles(std::string what, const std::filesystem::path& folder, std::string ending);

  const std::vector<std::string>& names() const { return names_; }

  // Returns a bundled file if `name` has no ending. Otherwise it is the path, relative to `from`, of a file of the
  // user's. Throws InputError at `place`.
  std::filesystem::path find(const std::string& name, const std::filesystem::path& from,
                             const Place& place) const;

 private:
  std::string what_;
  std::filesystem::path folder_;
  std::string ending_;
  std::vector<std::string> names_;
};

const BundledFiles& bundled_experiments();
const BundledFiles& bundled_topologies();
const BundledFiles& bundled_rate_traces();
// External trainers: programs that replace thinpipe-trainer.
const BundledFiles& bundled_trainers();
// Compute profiles, and devices (common/protocol/device.hh) for which profiles are estimated.
const BundledFiles& bundled_compute_profiles();

}  // namespace thinpipe
