// SPDX-License-Identifier: Apache-2.0
// The experiment that a command line names, and the runs of it that it selects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/experiment/experiment.hh"

namespace thinpipe {

struct ExperimentChoice {
  std::string file = {};
  std::vector<std::string> overrides = {};
  std::optional<std::int64_t> repeat = {};
  std::string only = {};  // a pattern for plan_runs(); empty: all

  // Adds the experiment, which is required, --set, --repeat and --only.
  void add_to(CLI::App& command);

  // Reads and checks the experiment. Throws InputError.
  Experiment load() const;
};

}  // namespace thinpipe
