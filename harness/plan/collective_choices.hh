// SPDX-License-Identifier: Apache-2.0
// Resolves the collectives of an experiment's runs: each is decided once, when the run is planned.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/plan/run.hh"

namespace thinpipe {

class CollectiveChoices {
 public:
  // Sets the run's collective and reduction tree, from its setting and its checked training.
  void resolve(Run& run);

 private:
  struct Choice {
    std::string collective;
    std::vector<int> reduction_tree = {};
  };
  static Choice choose(const Run& run, const Json& options);

  // By the setting and the options in the configuration.
  std::map<std::pair<std::shared_ptr<const Setting>, std::string>, Choice> known_;
};

}  // namespace thinpipe
