// SPDX-License-Identifier: Apache-2.0
// Tests which features for virtual networks the running kernel has, by using them. Needs a sandbox.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netem/topology/topology.hh"

namespace thinpipe::netem {

// Adds a queueing discipline ("tbf", "bfifo", "netem", "fq") to a device of a temporary namespace. Returns
// the reason if that fails, otherwise nullopt.
std::optional<std::string> obstacle_to_qdisc(const std::string& kind);

// Does the same with a fair queue (fair_queue.hh).
std::optional<std::string> obstacle_to_fair_queueing();

// Does the same with an active queue (active_queue.hh).
std::optional<std::string> obstacle_to_active_queueing(Queueing queueing);

// Returns the congestion controls that a socket in a temporary namespace may use.
std::vector<std::string> usable_congestion_controls();

}  // namespace thinpipe::netem
