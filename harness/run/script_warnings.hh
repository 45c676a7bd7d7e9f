// Warnings about a run whose trainer is a command, for its record. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/support/json_object.hh"
#include "harness/plan/run.hh"
#include "harness/run/script_progress.hh"

namespace thinpipe {

// Returns a warning if the links with counters between rank 0 and the other workers carried, all directions together,
// fewer bytes than rank 0 reported to have handed over: whatever a collective does with a payload, it leaves or
// reaches its rank at least once. Returns nullopt if they carried more, or if no such link has a counter.
// `wire_bytes`: a record's (LinkMeter::wire_bytes).
std::optional<std::string> warn_of_bypass(const netem::Topology& topology, std::int64_t workers,
                                          const Json& wire_bytes, std::int64_t payload_bytes);

// Returns all warnings: of a bypass, of patterns of the curve that no line matched, and of targets without a curve.
std::vector<std::string> script_warnings(const Run& run, const ScriptProgress& progress,
                                         const Json& wire_bytes);

}  // namespace thinpipe
