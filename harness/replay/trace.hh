// What a training's workers asked of their collectives to synchronise gradients, step by step: enough to ask
// it again without the training, over a real network or a model of one. Recorded by convergence runs. Format:
// docs/results.md, communication-trace.json. Pure.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "harness/replay/call.hh"

namespace thinpipe {

// 2: all_reduce has largest_code. 3: sum_entries. 4: all_reduce has in_pieces.
inline constexpr int trace_schema_version = 4;

// In a run's folder.
inline constexpr const char* trace_file_name = "communication-trace.json";

struct TracedParameter {
  std::string name;
  std::int64_t elements = 0;
};

// Which parameters a bucket holds: it can be exchanged when the gradients of all are there.
struct TracedBucket {
  std::vector<std::size_t> parameters;

  auto operator<=>(const TracedBucket&) const = default;
};

// Buckets in the order in which they are exchanged.
using TracedLayout = std::vector<TracedBucket>;

// One worker's part of one synchronisation.
struct Exchange {
  std::size_t layout = 0;                                 // index
  std::vector<std::vector<CollectiveCall>> buckets = {};  // of each bucket, its calls in order

  auto operator<=>(const Exchange&) const = default;
};

// So many steps in a row with the same exchange.
struct StepRun {
  std::optional<std::size_t> exchange;  // index; nothing: local steps, which exchange nothing
  std::int64_t steps = 1;
};

struct CommunicationTrace {
  int world_size = 1;
  Json configuration = nullptr;  // the training's, normalised
  std::vector<TracedParameter> parameters = {};
  std::vector<TracedLayout> layouts = {};
  std::vector<Exchange> exchanges = {};            // each once
  std::vector<std::vector<StepRun>> workers = {};  // by rank

  std::int64_t steps() const;
};

Json to_json(const CommunicationTrace& trace);

// Strict; throws InputError, also where parts do not fit together.
CommunicationTrace parse_trace(const Json& value, const std::string& file);
CommunicationTrace load_trace(const std::string& path);

}  // namespace thinpipe
