// SPDX-License-Identifier: Apache-2.0
// Communication trace: the collective calls by which the workers of a training run synchronised gradients,
// step by step. Enough to replay the communication without training, over a real or a simulated network.
// Recorded by convergence runs. Format: docs/reference/records.md, communication-trace.json. Pure.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/call.hh"

namespace thinpipe {

// Added in 2: largest_code of all_reduce. In 3: sparse_all_reduce. In 4: in_chunks of all_reduce. In 5: new
// names (common/support/renamed_names.json). In 6: overlap_steps of exchanges.
inline constexpr int trace_schema_version = 6;

// The trace's file in a run's folder.
inline constexpr const char* trace_file_name = "communication-trace.json";

struct TracedParameter {
  std::string name;
  std::int64_t elements = 0;
};

// The parameters of a bucket, which is ready for exchange when all their gradients are.
struct TracedBucket {
  std::vector<std::size_t> parameters;

  auto operator<=>(const TracedBucket&) const = default;
};

// Buckets in the order in which they are exchanged.
using TracedLayout = std::vector<TracedBucket>;

// One worker's part of one synchronisation.
struct Exchange {
  std::size_t layout = 0;                                 // index
  std::vector<std::vector<CollectiveCall>> buckets = {};  // each bucket's calls in order
  // nullopt: each bucket is exchanged during backward, when its gradients are ready. Otherwise all buckets are ready
  // at the end of the step, with its update of the weights, and the worker waits for the exchange at the end of
  // the step that comes this many steps later. The next exchange begins after that.
  std::optional<std::int64_t> overlap_steps = {};

  auto operator<=>(const Exchange&) const = default;
};

// Steps in a row with the same exchange.
struct StepRun {
  std::optional<std::size_t> exchange;  // index; nullopt for local steps, which exchange nothing
  std::int64_t steps = 1;
};

struct CommunicationTrace {
  int world_size = 1;
  Json configuration = nullptr;  // of the training run, normalised
  std::vector<TracedParameter> parameters = {};
  std::vector<TracedLayout> layouts = {};
  std::vector<Exchange> exchanges = {};            // distinct
  std::vector<std::vector<StepRun>> workers = {};  // by rank

  std::int64_t steps() const;
};

Json to_json(const CommunicationTrace& trace);

// Throws InputError for unknown members, wrong values and parts that do not fit together.
CommunicationTrace parse_trace(const Json& value, const std::string& file);
CommunicationTrace load_trace(const std::string& path);

}  // namespace thinpipe
