// SPDX-License-Identifier: Apache-2.0
// The kernel's counters of one direction of a shaped link, at one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace thinpipe::netem {

struct LinkCounters {
  std::string name;           // "left->middle": the sending node first
  double rate_bit_per_s = 0;  // the cap, as the kernel reports it
  std::uint64_t bytes = 0;    // sent by the shaper since the network was built, Ethernet headers included
  std::uint64_t packets = 0;  // frames of at most the MTU; a segment counts as its frames
  std::uint64_t drops = 0;    // at the shaper, for any reason
  std::uint64_t full_queue_drops = 0;       // the drops due to a full queue
  std::uint64_t lost_on_purpose = 0;        // the drops due to the link's "loss"
  std::optional<std::uint64_t> marks = {};  // frames that the queue marked; nullopt without ECN
  std::uint64_t backlog_bytes = 0;  // waiting for the cap now, without frames that are still being delayed
  double time_s = 0;                // monotonic clock, middle of the reading
  double time_uncertainty_s = 0;    // the counters were read within time_s plus or minus this
};

}  // namespace thinpipe::netem
