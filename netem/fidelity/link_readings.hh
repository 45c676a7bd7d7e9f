// SPDX-License-Identifier: Apache-2.0
// The kernel's counts of capped directions, read while traffic passes them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "netem/kernel/counters.hh"
#include "netem/network.hh"

namespace thinpipe::netem {

using LinkReadings = std::map<std::string, std::vector<LinkCounters>>;  // by direction

// Reads the counts of these directions once per `period` while `traffic` runs in a thread of its own, and once after it.
// Throws what `traffic` throws.
LinkReadings read_during(const Network& network, const std::set<std::string>& directions,
                         std::chrono::milliseconds period, const std::function<void()>& traffic);

// Returns once no capped direction has sent anything for `quiet`, or after `longest`.
void wait_until_quiet(const Network& network, std::chrono::duration<double> quiet,
                      std::chrono::duration<double> longest);

}  // namespace thinpipe::netem
