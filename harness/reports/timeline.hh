// SPDX-License-Identifier: Apache-2.0
// A timeline of some iterations of a run, as a Chrome trace: https://ui.perfetto.dev and chrome://tracing read it. The
// format is that of "Trace Event Format" (complete events X, counters C and metadata M).
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// The first and the last iteration, counted from 1.
using IterationRange = std::pair<std::int64_t, std::int64_t>;

// The lines of a run's files (docs/reference/records.md); the last two may be empty.
struct RunLines {
  std::vector<Json> iterations = {};  // of iterations.jsonl
  std::vector<Json> links = {};       // of links.jsonl
  std::vector<Json> workers = {};     // of workers.jsonl
};

// Returns {"traceEvents": […]}:
// - worker 0's iterations; in each, loading, compute, the exchange from the first bucket on, and the wait for it at the end;
// - of each worker in workers.jsonl, a track with the compute of its iterations, and the wait for the exchange at their end;
// - the rate and the longest queue of each direction of a capped link.
// Worker 0's iterations end as workers.jsonl has it, or else where links.jsonl marks them, or at their train time. The range
// may exceed the run.
Json chrome_trace(const RunLines& lines, IterationRange range);

// Reads the files in a run's folder. Throws InputError naming the file if a line is no JSON object, except an incomplete
// last one, or if there are no iterations with times in this range.
Json chrome_trace(const std::filesystem::path& run_folder, IterationRange range);

}  // namespace thinpipe
