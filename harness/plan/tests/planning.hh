// SPDX-License-Identifier: Apache-2.0
// Plans experiments for tests, with a stand-in for the worker program.
#pragma once

#include <string>
#include <vector>

#include "common/support/tests/paths.hh"
#include "harness/plan/run_plan.hh"

namespace thinpipe {

inline const TrainerProgram& trainer() {
  static const TrainerProgram program(built_program("thinpipe-fake-trainer"));
  return program;
}

// Returns the runs of an experiment, given as text.
inline std::vector<Run> plan(const std::string& text, const std::string& only = {}) {
  return plan_runs(parse_experiment(text, "e.json"), trainer(), only);
}

// Returns how planning refuses an experiment; "accepted" if it does not.
inline std::string refusal_of(const std::string& text) {
  try {
    plan(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace thinpipe
