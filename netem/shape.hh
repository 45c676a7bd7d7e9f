// What one direction of a shaped link is to be: pure arithmetic.
#pragma once

#include "harness/support/exception.hh"
#include "harness/support/json_object.hh"
#include "netem/topology.hh"

namespace thinpipe::netem {

struct Shape {
  double rate_bit_per_s = 0;
  double burst_bytes = 0;
  double queue_bytes = 0;
  Queueing queueing = Queueing::fifo;
  Impairments impairments = {};

  bool operator==(const Shape&) const = default;
};

// {"rate_bit_per_s", "burst_bytes", "queue_bytes", "queueing"}, and "delay_s", "jitter_s", "loss",
// "duplication" and "reordering" where they are not 0.
Json to_json(const Shape& shape);

inline constexpr double shortest_burst_bytes = 4000;  // two full frames, and room for one to come

// The kernel holds a burst as the time that it takes at the rate: 32 bits of 64 ns.
inline constexpr double longest_burst_s = 274;

// The shape of a direction that has a rate: burst and queue as it asks, or by the rate.
//   burst = max(shortest_burst_bytes, 100 us of the rate): the smallest that keeps the link busy, because
//   burst is free
//           credit after every pause (4 kB at 100 Mbit/s, 6.25 kB at 500, 12.5 kB at 1000)
//   queue = max(16 full frames, 10 ms of the rate)
Shape shape_of(const Direction& direction);

// Throws InputError at `place` unless a full frame passes the burst, the kernel can hold the burst as a time,
// and the queue holds a burst.
void check_shape(const Shape& shape, const Place& place);

// The largest segment that hosts may send. It must pass the bucket whole, or the shaper would cut it up, at a
// cost in CPU. And it takes no more than 5/8 of the bucket, but at least two frames: while the shaper waits
// for a segment's tokens, only the rest of the bucket keeps what comes in until a late timer has fired.
// Smaller ones still would cost CPU, which trainers need too (docs/fidelity.md). Where frames meet their
// fates one by one (loss, jitter and so on), a segment is one frame: the kernel would draw once for all of
// them.
unsigned largest_segment_bytes(const Shape& shape);

}  // namespace thinpipe::netem
