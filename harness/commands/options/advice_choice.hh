// SPDX-License-Identifier: Apache-2.0
// The model, network and methods that the user of `thinpipe advise` names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/support/units.hh"
#include "harness/experiment/experiment.hh"

namespace thinpipe {

struct AdviceChoice {
  std::string topology = {};
  std::optional<std::string> model = {};
  std::optional<double> parameters = {};
  std::optional<std::string> compute = {};
  std::optional<std::int64_t> workers = {};
  std::vector<std::string> overrides = {};
  std::vector<std::string> methods = {};

  // Adds TOPOLOGY, which the command may do without, and an option for each of the others.
  void add_to(CLI::App& command);

  // Returns the compute time; nullopt if it is to be measured. Throws InputError.
  std::optional<double> compute_time_s() const;

  // Throws InputError if the topology is unknown or has no caps, over which no method pays off.
  void check_topology() const;

  // Returns the experiment that has one run per method, dense first. `description`: of the trainer
  // (TrainerProgram::describe). Throws InputError.
  Experiment experiment(const Json& description) const;
};

// Reads the value of an option that is a positive quantity. Throws InputError naming the option.
double read_positive(const std::string& option, Quantity quantity, const std::string& text);

}  // namespace thinpipe
