// The shaper of one direction of a link: a token bucket filter at the root of the sending device, whose queue
// counts bytes.
#pragma once

#include "netem/netlink.hh"
#include "netem/topology.hh"

namespace thinpipe::netem {

struct Shape {
  double rate_bit_per_s = 0;
  double burst_bytes = 0;
  double queue_bytes = 0;
};

// The shape of a link that has a rate: burst and queue as the link asks, or by the rate.
//   burst = max(4000 bytes, 256 us of the rate): the smallest that keeps the link busy, because burst is free
//   credit
//           after every pause (4 kB at 100 Mbit/s, 16 kB at 500, 32 kB at 1000)
//   queue = max(16 full frames, 10 ms of the rate)
Shape shape_of(const Link& link);

// The largest segment that hosts may send so that it passes a bucket of `burst_bytes` whole: a bit under the
// burst. Larger ones would be cut up by the shaper, at a cost in CPU.
unsigned largest_segment_bytes(double burst_bytes);

// Puts the shape on a device and reads it back. Throws Error when the kernel holds anything else than was
// asked after its rounding (rates to whole bytes per second, bursts to whole microseconds of the rate).
Shape shape_device(const NetlinkSocket& socket, int ifindex, const Shape& asked, std::string_view name);

}  // namespace thinpipe::netem
