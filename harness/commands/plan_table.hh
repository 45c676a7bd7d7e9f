// SPDX-License-Identifier: Apache-2.0
// The plan of an experiment, as JSON and as a table.
#pragma once

#include <string>
#include <vector>

#include "harness/plan/compute_costs.hh"
#include "harness/plan/run.hh"

namespace thinpipe {

// Returns one object per run: its configuration, its predicted cost, and why the machine cannot carry it.
Json plan_rows(const std::vector<Run>& runs, const CostOf& cost_of, const Machine& machine);

// Formats the rows of plan_rows as a table.
std::string format_plan(const Json& rows);

}  // namespace thinpipe
