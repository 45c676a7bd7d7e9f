// SPDX-License-Identifier: Apache-2.0
// The shape of one direction of a link: cap, burst, queue and impairments. Pure.
#pragma once

#include <algorithm>
#include <cmath>

#include "common/support/exception.hh"
#include "common/support/json_object.hh"
#include "netem/topology/frame.hh"
#include "netem/topology/topology.hh"

namespace thinpipe::netem {

struct LinkShape {
  double rate_bit_per_s = 0;
  double burst_bytes = 0;
  double queue_bytes = 0;
  Queueing queueing = Queueing::fifo;
  bool ecn = false;  // an active queue marks frames of flows that understand marks, instead of dropping them
  Impairments impairments = {};
  Frame frame = {};  // the largest that passes

  bool operator==(const LinkShape&) const = default;
};

// {"rate_bit_per_s", "burst_bytes", "queue_bytes", "queueing"}, and "ecn" if true, and "delay_s", "jitter_s",
// "loss", "duplication" and "reordering" unless they are 0.
Json to_json(const LinkShape& shape);

// Two full frames and room for the next one's tokens, or a frame that takes 5/8 of it (largest_segment_bytes): 4000
// bytes with packets of 1500, 14 kB with packets of 9000.
inline double min_burst_bytes(const Frame& frame) {
  return std::max(4000.0, std::ceil(frame.bytes() * 8 / 5));
}

inline double min_queue_bytes(const Frame& frame) {
  return 16 * frame.bytes();
}

// A shaper may send at most this share of the cap while it makes up for its late timers.
inline constexpr double catch_up_ratio = 1.05;

// The kernel stores a burst as its time at the rate, in 32 bits of 64 ns.
inline constexpr double max_burst_s = 274;

// Returns the shape of a direction that has a rate. Burst and queue are as given, or follow from the rate:
//   burst = max(min_burst_bytes(), 100 us of the rate)
//   queue = max(16 full frames, 10 ms of the rate)
// This burst (4 kB at 100 Mbit/s, 6.25 kB at 500, 12.5 kB at 1000) is the smallest that keeps the link busy.
// A larger one would give more free credit after every pause.
LinkShape link_shape_of(const Direction& direction);

// Returns the bytes that a direction may at most be ahead of its cap after a pause:
//   max(burst, 250 us of the rate)
// Of them the burst may pass at once, and the rest at catch_up_ratio of the cap. So what a late timer left
// unsent is sent soon after, while a short message hardly arrives earlier than by the burst alone.
// docs/results/fidelity.md has the measurements behind both numbers.
double credit_bytes(const LinkShape& shape);

// Throws InputError at `place` unless the burst holds a full frame, the kernel can store the burst as a time,
// and the queue holds a burst.
void check_shape(const LinkShape& shape, const Place& place);

// Returns the largest segment that hosts may send.
// - It fits into the bucket whole; otherwise the shaper would split it, which costs CPU.
// - It takes at most 5/8 of the bucket, but holds at least a frame, and two of up to 1500 bytes. While the shaper waits
//   for a segment's tokens, only the rest of the bucket keeps the tokens that come in until a late timer fires. Smaller
//   segments would cost more CPU, which trainers need too (docs/explanation/fidelity.md).
// - It is one frame if impairments apply to single frames (loss, jitter and so on): the kernel would draw
//   once for all frames of a segment.
unsigned largest_segment_bytes(const LinkShape& shape);

// Returns the bytes on the link of the largest segment that suits it.
double segment_on_link_bytes(const LinkShape& shape);

// Returns the number of frames that a receiver acknowledges at a time, if hosts send segments of that size: all of a
// segment, but two at least.
int acknowledged_frames(unsigned segment_bytes, const Frame& frame);

}  // namespace thinpipe::netem
