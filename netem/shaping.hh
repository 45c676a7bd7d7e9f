// The shaper of one direction of a link in the kernel, at the sending device: a token bucket filter; in it,
// where frames are to be delayed, lost and so on, a netem; and in that a queue that counts bytes. So a frame
// is first delayed, then waits for its turn at the cap.
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
  bool impaired = false;  // its shape has impairments, or will have: there is a netem
};

// Throws Error naming the modules to load when the kernel lacks a queueing discipline that the shape needs.
// Tries them out on the loopback device of the socket's namespace, which should be a new one.
void check_kernel_shapes(const NetlinkSocket& socket, const Shape& shape);

// Whether the kernel holds what was asked, after its rounding: rates to whole bytes per second, bursts to
// two microseconds of the rate at most, delays by two microseconds at most, shares to 2^-32.
bool is_held(const Shape& asked, const Shape& held);

// Shapes the device and returns what the kernel holds. Throws Error when that is not what was asked.
Shape shape_device(const NetlinkSocket& socket, const ShapedDevice& device, const Shape& asked);

// Gives a device that shape_device has shaped another shape, while frames go on passing, and returns what the
// kernel holds. What waits stays in the queue, but for what finds a shorter one full; the bucket is full
// again. A device without a netem cannot be given impairments. Throws Error when the kernel holds something
// else.
Shape reshape_device(const NetlinkSocket& socket, const ShapedDevice& device, const Shape& asked);

// The counters of each device, all of the socket's namespace.
std::vector<LinkCounters> read_counters(const NetlinkSocket& socket,
                                        const std::vector<ShapedDevice>& devices);

}  // namespace thinpipe::netem
