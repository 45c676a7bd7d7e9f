// SPDX-License-Identifier: Apache-2.0
// Queues that keep themselves short: they drop frames, or mark them (ECN), before they are full. Requests and
// answers are built by hand: libnl knows neither codel nor all settings of fq_codel and red.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "netem/kernel/qdisc.hh"
#include "netem/topology/link_shape.hh"

namespace thinpipe::netem {

// The settings that follow from a shape; 0 if the discipline does not have them. All others are the kernel's
// defaults: a target of 5 ms and an interval of 100 ms for codel and fq_codel (RFC 8289), 1024 flows.
struct ActiveQueue {
  Queueing queueing = Queueing::codel;
  bool ecn = false;
  std::uint32_t limit = 0;         // bytes for red; packets otherwise, of which a segment is one
  std::uint32_t memory_bytes = 0;  // fq_codel: limit of the memory of waiting packets
  std::uint32_t min_bytes = 0;     // red: with a longer queue on average, it drops or marks some frames
  std::uint32_t max_bytes = 0;     // red: with a longer queue on average, it drops or marks every frame
  std::uint32_t max_share = 0;  // red: the share of frames that it drops or marks just below that, in 2^-32
  unsigned weight_log2 = 0;     // red: a new frame's weight in the average is 2 to the minus this

  bool operator==(const ActiveQueue&) const = default;
};

// Returns the settings for the shape, whose discipline must be one of these:
//   codel     limit = one packet per full frame of the queue
//   fq_codel  the same limit, and memory = twice the queue, because the kernel counts packets with their overhead
//   red       limit = queue, max = queue / 2, min = queue / 6, share = 0.1, weight = the largest power of two
//             that spreads the average over as many full frames as max holds (at most 512)
ActiveQueue active_queue_of(const LinkShape& shape);

// Returns the queue's length in bytes that these settings stand for; whole full frames if the limit counts packets.
double queue_bytes_of(const ActiveQueue& queue, const Frame& frame);

// Returns a description for messages.
std::string print(const ActiveQueue& queue);

// Adds or changes the queue. Throws Error naming the module to load if this kernel lacks the discipline.
void put_active_queue(const NetlinkSocket& socket, Edit edit, const std::string& attempt, int ifindex,
                      std::uint32_t parent, std::uint32_t handle, const LinkShape& shape);

// Such a queue as the kernel holds it.
struct HeldActiveQueue {
  ActiveQueue settings;
  std::uint64_t marks = 0;  // frames marked so far; a segment counts once
};

// Returns nullopt if the qdisc is of another kind.
std::optional<HeldActiveQueue> held_active_queue(const QdiscReply& queue);

}  // namespace thinpipe::netem
