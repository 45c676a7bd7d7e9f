// SPDX-License-Identifier: Apache-2.0
// A queue that serves flows in turn, for kernels that may lack the usual ones (fq_codel, sfq, drr). An HTB
// whose classes never run out of tokens is a deficit round robin. Each class holds its own queue that counts
// bytes. A classifier, a few instructions of classic BPF, maps a frame's flow to its class.
#pragma once

#include <cstdint>
#include <string>

#include "netem/kernel/qdisc.hh"

namespace thinpipe::netem {

// If there are more flows, some share a queue. Connections that one host opens to one port shortly after each
// other do not: their source ports are close together and map to different queues.
inline constexpr std::uint32_t fair_queues = 64;

struct FairQueue {
  int ifindex = 0;
  std::uint32_t parent = 0;
  std::uint32_t handle = 0;  // the HTB's
  double queue_bytes = 0;    // limit of each flow's queue
  double turn_bytes = 0;     // a flow's share of a turn; at least a segment
};

// Adds or changes the queue. Throws Error naming the module to load if this kernel lacks HTB or the BPF
// classifier.
void put_fair_queue(const NetlinkSocket& socket, Edit edit, const std::string& attempt,
                    const FairQueue& queue);

// The handle of the first flow's queue, for reading back its limit.
inline constexpr std::uint32_t first_flow_queue_handle = 0x1000'0000;

}  // namespace thinpipe::netem
