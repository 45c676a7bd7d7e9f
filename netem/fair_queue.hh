// A queue that serves flows in turn, for kernels that may have none of the usual ones (fq_codel, sfq, drr):
// an HTB whose classes never run out of tokens is a deficit round robin. Each class holds a queue of its own
// that counts bytes, and a classifier, a few instructions of classic BPF, finds the class by the frame's
// flow.
#pragma once

#include <cstdint>
#include <string>

#include "netem/qdisc.hh"

namespace thinpipe::netem {

// Flows beyond these share a queue with others. The few connections that one host opens to one port, one
// after another, do not: their own ports follow each other closely, and so do their queues.
inline constexpr std::uint32_t fair_queues = 64;

struct FairQueue {
  int ifindex = 0;
  std::uint32_t parent = 0;
  std::uint32_t handle = 0;  // of the HTB
  double queue_bytes = 0;    // what each flow may have waiting
  double turn_bytes = 0;     // what a flow may send before it is the next one's turn; at least a segment
};

// Throws Error naming the module to load where this kernel has no HTB or no BPF classifier.
void put_fair_queue(const NetlinkSocket& socket, Edit edit, const std::string& attempt,
                    const FairQueue& queue);

// The handle of the first flow's own queue, by which its limit can be read.
inline constexpr std::uint32_t first_flow_queue_handle = 0x1000'0000;

}  // namespace thinpipe::netem
