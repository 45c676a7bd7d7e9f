// SPDX-License-Identifier: Apache-2.0
// What the capped links carried during a run, in as few points as the report's page draws.
#pragma once

#include <filesystem>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// Divides the time of a series, the lines of links.jsonl (docs/reference/records.md), into at most 200 equal parts.
// Returns {"end_s", "directions": [{"name", "rates", "queues", "drops", "caps"}]}: the mean rate of each part in
// Mbit/s, its longest queue in kB, the numbers of the parts in which frames were lost, and [time from which it held in s,
// Mbit/s] of each cap in the run's record. Of many directions, only the busiest. Throws Json::exception if the lines are no series.
Json link_history(const std::vector<Json>& lines, const Json& record);

// Reads both files in a run's folder. Returns null if it has no series, or an empty one. Throws InputError naming the
// folder if a file is something else.
Json link_history(const std::filesystem::path& run_folder);

}  // namespace thinpipe
