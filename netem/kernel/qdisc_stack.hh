// SPDX-License-Identifier: Apache-2.0
// The shaper of one direction of a link in the kernel, at the sending device. It is a token bucket filter
// (tbf), which holds a netem if the link has impairments, which holds the queue. So a frame
// is first delayed, then waits for its turn at the cap.
#pragma once

#include <string>
#include <vector>

#include "netem/kernel/counters.hh"
#include "netem/kernel/netlink.hh"
#include "netem/topology/link_shape.hh"

namespace thinpipe::netem {

// A device that sends into a shaped link.
struct ShapedDevice {
  std::string name;  // "left->middle"
  int ifindex = 0;
  bool impaired = false;  // has a netem: its shape has impairments, or will have
  bool ecn = false;       // its queue marks frames
};

// Throws Error naming the modules to load if the kernel lacks a queueing discipline that the shape needs.
// Tries them on the loopback device of the socket's namespace, which should be a new one.
void check_kernel_shapes(const NetlinkSocket& socket, const LinkShape& shape);

// Returns true if the kernel holds the shape asked for, up to its rounding: rates to whole bytes per second,
// bursts to at most two microseconds of the rate, queues of codel and fq_codel to whole frames, delays to at
// most two microseconds, shares to 2^-32.
bool is_held(const LinkShape& asked, const LinkShape& held);

// Shapes the device and returns the shape that the kernel holds. Throws Error if that is not the one asked
// for.
LinkShape shape_device(const NetlinkSocket& socket, const ShapedDevice& device, const LinkShape& asked);

// Changes the shape of a device that shape_device has shaped, while frames keep passing, and returns the
// shape that the kernel holds. Waiting frames stay in the queue unless it becomes too short for them, but a
// change of a red queue's length or ECN discards them all; the bucket is full again. A device without a netem
// cannot get impairments. Throws Error if the kernel holds another shape.
LinkShape reshape_device(const NetlinkSocket& socket, const ShapedDevice& device, const LinkShape& asked);

// Reads the counters of each device; all are in the socket's namespace.
std::vector<LinkCounters> read_counters(const NetlinkSocket& socket,
                                        const std::vector<ShapedDevice>& devices);

}  // namespace thinpipe::netem
