// SPDX-License-Identifier: Apache-2.0
// Fills the capped directions of a network for a moment each, to judge the rate of links that training never fills.
#pragma once

#include <string>
#include <vector>

#include "netem/fidelity/fidelity.hh"
#include "netem/kernel/counters.hh"
#include "netem/network.hh"

namespace thinpipe::netem {

// Directions that cannot be filled in this time are not judged.
inline constexpr double max_probe_s = 10;

// The rule for a filled direction.
inline constexpr double least_rate_of_cap = 0.98;
inline constexpr double most_rate_of_cap = 1.01;

// Returns one check per capped direction, in the network's order: "rate in a probe before training, left->middle",
// where `moment` is "before training". Measured is the share of the cap; null if the direction could not be filled, and
// the note says why. Judges by the current shapes. Takes 0.4 s or more for every 2 Gbit/s of caps; directions of
// different paths are filled at the same time.
std::vector<Check> probe_links(const Network& network, const std::string& moment);

// The same for one direction. Readings at any period while a flow fills it, from before the flow until after it. Pure.
Check judge_probe(const std::vector<LinkCounters>& readings, const ShapedDirection& direction);

}  // namespace thinpipe::netem
