// SPDX-License-Identifier: Apache-2.0
// What an experiment or an option changes in a topology. Pure.
#pragma once

#include <optional>

#include "common/support/json_object.hh"
#include "netem/topology/topology.hh"

namespace thinpipe::netem {

// Caps every bottleneck link, in each direction that has a cap, at `rate_bit_per_s`. Throws InputError at
// `place` (where the rate was given) if the topology has no bottleneck or the rate does not fit one.
void set_bottleneck_rate(Topology& topology, double rate_bit_per_s, const Place& place);

// Forgets what the topology says of the bursts or queues of bottlenecks. Call it before several of rate, burst and queue
// are set, as each is checked beside the others. Set the queue before the burst that it must hold.
void forget_bottleneck_buffers(Topology& topology, bool bursts, bool queues);

// Sets the burst of every bottleneck direction that has a cap to the bytes that the cap sends in burst_s, but
// at least to min_burst_bytes() (link_shape.hh). Throws InputError at `place` if that does not fit, or is
// more than the kernel holds.
void set_bottleneck_burst(Topology& topology, double burst_s, const Place& place);

// Likewise sets the queue, at least to min_queue_bytes(). If the queue is fair, each flow has one of this length.
void set_bottleneck_queue(Topology& topology, double queue_s, const Place& place);

// Likewise sets the discipline of the queue and whether it marks frames; nullopt keeps the topology's. Throws
// InputError at `place` (of the object with both) if the result marks frames with a discipline that cannot, or
// if the topology has no bottleneck.
void set_bottleneck_queueing(Topology& topology, std::optional<Queueing> queueing, std::optional<bool> ecn,
                             const Place& place);

// Sets the congestion control of all hosts: a name, or an object {"default": "cubic", "w3": "bbr"}. Throws InputError
// at `place` unless these are names that a kernel may know and the network is emulated. Whether this kernel has them
// is up to check_kernel (netem/network.hh).
void set_congestion_control(Topology& topology, const Json& value, const Place& place);

// Returns the largest packet, in bytes. Throws InputError at `place` unless it is a number from min_packet_bytes to
// max_packet_bytes (frame.hh).
unsigned read_packet_bytes(const Json& value, const Place& place);

// Sets the largest packet of all paths that cross a cap. Throws InputError as read_packet_bytes() does, and unless the
// network is emulated and the bursts that the topology gives can hold such a frame.
void set_mtu(Topology& topology, const Json& value, const Place& place);

}  // namespace thinpipe::netem
