// What the kernel counted on one direction of a shaped link, at one moment.
#pragma once

#include <cstdint>
#include <string>

namespace thinpipe::netem {

struct LinkCounters {
  std::string name;           // "left->middle": the sending node first
  double rate_bit_per_s = 0;  // the cap, as the kernel reports it
  std::uint64_t bytes = 0;    // left the shaper, Ethernet headers included, since the network was built
  std::uint64_t packets = 0;  // frames of at most the MTU: a segment that passes whole counts as its frames
  std::uint64_t drops = 0;    // at the shaper, for any reason
  std::uint64_t full_queue_drops = 0;  // those of them that found the queue full
  std::uint64_t lost_on_purpose = 0;   // those that the link's loss took
  std::uint64_t backlog_bytes = 0;     // waiting for the cap now; what is in a delay does not wait
  double time_s = 0;                   // monotonic clock, the middle of the reading
  double time_uncertainty_s = 0;       // the reading lies within time_s plus or minus this
};

}  // namespace thinpipe::netem
