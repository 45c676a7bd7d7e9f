// Network devices: bridges, veth pairs, and what is set on them.
#pragma once

#include <optional>
#include <string>

#include "netem/netlink.hh"
#include "netem/network_namespace.hh"

namespace thinpipe::netem {

// Every device that Network makes is in this group, by which all are deleted at once.
inline constexpr unsigned device_group = 77;

// The first free index of a new namespace: 1 is the loopback device.
inline constexpr int first_ifindex = 2;
inline constexpr int loopback_ifindex = 1;

// One end of a veth pair, made straight in its namespace.
struct Endpoint {
  const NetworkNamespace& network_namespace;
  std::string device;
  int ifindex;
  std::optional<std::string> hardware_address = {};  // "02:00:0a:4d:00:01"; none: the kernel's choice
};

void add_bridge(const NetlinkSocket& socket, const std::string& device, int ifindex);

void add_veth(const NetlinkSocket& socket, const Endpoint& a, const Endpoint& b);

struct DeviceSettings {
  std::optional<int> bridge = {};                      // the bridge to become a port of
  std::optional<unsigned> largest_segment_bytes = {};  // gso_max_size
  std::optional<unsigned> largest_packet_bytes = {};   // the MTU
};

// Applies the settings and brings the device up. Throws when the kernel holds another largest segment than
// was asked.
void raise_device(const NetlinkSocket& socket, int ifindex, const DeviceSettings& settings = {});

// Takes a device down, or brings it up again, and reads back that it is. A device that goes down loses its
// routes and neighbours; its peer keeps them, without a carrier.
void set_device_up(const NetlinkSocket& socket, int ifindex, bool up);

// Deletes the namespace's devices of our group, and with them their peers elsewhere. Throws when there are
// none.
void delete_devices(const NetlinkSocket& socket);

// Frames that the namespace's devices lost, and failed to send or receive, since they were made.
std::uint64_t frames_lost(const NetlinkSocket& socket);

}  // namespace thinpipe::netem
