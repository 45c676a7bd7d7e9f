// SPDX-License-Identifier: Apache-2.0
// A cache of artifacts that several runs share, in a folder of the experiment's results. The first run that
// needs one builds it; concurrent controllers wait for its lock.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "common/support/signals.hh"
#include "harness/executors/executor.hh"
#include "harness/records/change_time.hh"
#include "harness/terminal/progress.hh"

namespace thinpipe {

class ArtifactCache {
 public:
  using Since = std::optional<ChangeTime>;
  // `what` names the artifacts on the screen, such as "initial weights". `since`: build those again that were built
  // before; nullopt: none.
  ArtifactCache(std::filesystem::path folder, std::string what, Since since, StopSignals& stop)
      : folder_(std::move(folder)), what_(std::move(what)), since_(since), stop_(stop) {}

  const std::filesystem::path& folder() const { return folder_; }

  // Returns the file with this name in the folder if it would be built, because it is not there or to be built again.
  std::optional<std::filesystem::path> missing(const std::string& file) const;

  // Returns the artifact `name`, or the outcome of a build that did not complete. find() returns the
  // artifact in the folder, nullopt if there is none; build() builds it, and the file NAME.json last. Waits while
  // another controller builds it.
  using Find = std::function<std::optional<Json>()>;
  using Build = std::function<std::variant<Json, Outcome>()>;
  std::variant<Json, Outcome> get_or_build(const std::string& name, Progress& progress, const Find& find,
                                           const Build& build);

 private:
  bool is_new_enough(const std::filesystem::path& file) const;

  std::filesystem::path folder_;
  std::string what_;
  Since since_;
  StopSignals& stop_;
  std::set<std::string> built_;
};

}  // namespace thinpipe
