// What several runs need and one of them makes, kept in a folder of the experiment's results, whichever
// controller comes first.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "common/support/signals.hh"
#include "harness/executors/executor.hh"
#include "harness/terminal/progress.hh"

namespace thinpipe {

class MadeOnce {
 public:
  // `what` names the things on the screen, as "starting weights". `fresh`: make them anew, once, even where
  // they are kept from earlier.
  MadeOnce(std::filesystem::path folder, std::string what, bool fresh, StopSignals& stop)
      : folder_(std::move(folder)), what_(std::move(what)), fresh_(fresh), stop_(stop) {}

  const std::filesystem::path& folder() const { return folder_; }

  // kept(): the thing of that name, as it lies in the folder; nothing where it does not. make(): makes it, or
  // says how that ended. Waits for another controller that is making it.
  using Kept = std::function<std::optional<Json>()>;
  using Make = std::function<std::variant<Json, Outcome>()>;
  std::variant<Json, Outcome> obtain(const std::string& name, Progress& progress, const Kept& kept,
                                     const Make& make);

 private:
  std::filesystem::path folder_;
  std::string what_;
  bool fresh_;
  StopSignals& stop_;
  std::set<std::string> made_;
};

}  // namespace thinpipe
