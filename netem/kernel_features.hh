// What the running kernel offers to a virtual network, found by trying. Needs a sandbox.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace thinpipe::netem {

// Puts a queueing discipline ("tbf", "bfifo", "netem", "fq") onto a device of a throw-away namespace. Returns
// what stands against it, or nothing where it works.
std::optional<std::string> obstacle_to_qdisc(const std::string& kind);

// The same for a queue that serves flows in turn.
std::optional<std::string> obstacle_to_fair_queueing();

// The congestion controls that a socket in a throw-away namespace may be given.
std::vector<std::string> usable_congestion_controls();

}  // namespace thinpipe::netem
