// SPDX-License-Identifier: Apache-2.0
// Warnings about a run whose trainer is a command, for its record. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/run.hh"
#include "harness/run/script/script_progress.hh"

namespace thinpipe {

// The bytes that each direction carried, by its name (record::Traffic::wire_bytes).
using WireBytes = std::map<std::string, std::optional<std::int64_t>>;

// Returns a warning if the links with counters between rank 0 and the other workers carried, all directions together,
// fewer bytes than rank 0 reported to have handed over: whatever a collective does with a payload, it leaves or
// reaches its rank at least once. Returns nullopt if they carried more, or if no such link has a counter.
std::optional<std::string> warn_of_bypass(const netem::Topology& topology, std::int64_t workers,
                                          const WireBytes& wire_bytes, std::int64_t payload_bytes);

// Returns all warnings: of a bypass, of patterns of the curve that no line matched, and of targets without a curve.
std::vector<std::string> script_warnings(const Run& run, const ScriptProgress& progress,
                                         const WireBytes& wire_bytes);

}  // namespace thinpipe
