// The plan of an experiment for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "harness/run_plan.hh"

namespace thinpipe {

// One object a run: what will run and what it will cost.
Json plan_rows(const std::vector<Run>& runs);
std::string plan_table(const std::vector<Run>& runs);

}  // namespace thinpipe
