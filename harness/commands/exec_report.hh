// SPDX-License-Identifier: Apache-2.0
// The report of `thinpipe exec`: traffic per link, and whether the network behaved as specified.
#pragma once

#include <string>
#include <vector>

#include "harness/run/network/live_network.hh"
#include "harness/terminal/ranks.hh"

namespace thinpipe {

// Returns {"topology", "command", "exit_code", "ranks", "duration_s", "traffic", "fidelity", "idle_cores", "cpu_pressure",
// "machine"}. Members that records have too have the same meaning there. Call it once, after all ranks have
// ended.
Json exec_report(LiveNetwork& network, const std::vector<std::string>& command, const RanksOutcome& outcome);

// Formats traffic and fidelity of exec_report as text.
std::string format_exec_report(const Json& report);

}  // namespace thinpipe
