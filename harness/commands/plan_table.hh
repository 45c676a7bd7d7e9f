// The plan of an experiment for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "harness/compute_costs.hh"
#include "harness/run_plan.hh"

namespace thinpipe {

// One object a run: what will run, what it will cost, and whether the machine can carry it.
Json plan_rows(const std::vector<Run>& runs, const CostOf& cost_of, const Machine& machine);

// The same as a table.
std::string format_plan(const Json& rows);

}  // namespace thinpipe
