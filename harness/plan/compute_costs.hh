// SPDX-License-Identifier: Apache-2.0
// Compute costs of runs on this machine, measured once for all runs that compute the same.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "harness/plan/resource_estimate.hh"
#include "harness/plan/run.hh"
#include "harness/plan/trainer_program.hh"

namespace thinpipe {

// Returns nullopt if the cost is unknown.
using CostOf = std::function<std::optional<ComputeCost>(const Run& run)>;

class MeasuredCosts {
 public:
  // `before_measuring` is called with a line that says what takes the time.
  MeasuredCosts(const TrainerProgram& trainer, std::function<void(const std::string& line)> before_measuring)
      : trainer_(trainer), before_measuring_(std::move(before_measuring)) {}

  // Returns the cost of one worker: for a replay or simulation, that of its compute profile if it names one; nullopt
  // if it names a device, whose times only the run estimates. Otherwise runs the worker for a few seconds unless that
  // has been done before. Throws Error if that fails.
  std::optional<ComputeCost> of(const Run& run);

 private:
  const TrainerProgram& trainer_;
  std::function<void(const std::string&)> before_measuring_;
  std::map<std::string, ComputeCost> measured_;
};

}  // namespace thinpipe
