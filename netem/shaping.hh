// The shaper of one direction of a link in the kernel: a token bucket filter at the root of the sending
// device, and in it a queue that counts bytes.
#pragma once

#include <string>
#include <vector>

#include "netem/counters.hh"
#include "netem/netlink.hh"
#include "netem/shape.hh"

namespace thinpipe::netem {

// A device that sends into a shaped link.
struct ShapedDevice {
  std::string name;  // "left->middle"
  int ifindex = 0;
};

// Shapes the device and returns what the kernel holds. Throws Error when that is anything else than was asked
// after the kernel's rounding: rates to whole bytes per second, bursts to whole microseconds of the rate.
Shape shape_device(const NetlinkSocket& socket, const ShapedDevice& device, const Shape& asked);

// The counters of each device, all of the socket's namespace.
std::vector<LinkCounters> read_counters(const NetlinkSocket& socket,
                                        const std::vector<ShapedDevice>& devices);

}  // namespace thinpipe::netem
