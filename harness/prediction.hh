// What a run will put on the wire and the least time that takes, before anything runs. Pure.
#pragma once

#include <optional>
#include <string>

#include "harness/run_plan.hh"

namespace thinpipe {

// Of TCP over Ethernet with full-size frames, the share that is payload: 1448 of 1514 bytes.
inline constexpr double goodput_share = 1448.0 / 1514.0;

struct Prediction {
  std::string link;                     // the direction that takes longest, "left->middle"
  double wire_bytes_per_iteration = 0;  // across it
  double exchange_time_s = 0;           // least time of that, per iteration, without any overlap
};

// For collectives that send around a ring in rank order; nothing where no capped link lies on it.
std::optional<Prediction> predict(const netem::Topology& topology, std::int64_t workers,
                                  double sent_bytes_per_iteration);

}  // namespace thinpipe
