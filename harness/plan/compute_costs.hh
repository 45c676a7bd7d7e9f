// What computing costs a run's workers on this machine: measured once for all runs that compute the same.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "harness/plan/demand.hh"
#include "harness/plan/run.hh"
#include "harness/plan/trainer_program.hh"

namespace thinpipe {

// Nothing where it is not known.
using CostOf = std::function<std::optional<ComputeCost>(const Run& run)>;

class MeasuredCosts {
 public:
  // `before_measuring` is told what takes the time.
  MeasuredCosts(const TrainerProgram& trainer, std::function<void(const std::string& line)> before_measuring)
      : trainer_(trainer), before_measuring_(std::move(before_measuring)) {}

  // Runs one worker's computing for a few seconds where it has not done so before. Throws Error where that
  // fails.
  ComputeCost of(const Run& run);

 private:
  const TrainerProgram& trainer_;
  std::function<void(const std::string&)> before_measuring_;
  std::map<std::string, ComputeCost> measured_;
};

}  // namespace thinpipe
