// SPDX-License-Identifier: Apache-2.0
// Network devices: bridges, veth pairs, and their settings.
#pragma once

#include <optional>
#include <string>

#include "netem/kernel/netlink.hh"
#include "netem/kernel/network_namespace.hh"

namespace thinpipe::netem {

// The group of every device that Network creates; all are deleted by it at once.
inline constexpr unsigned device_group = 77;

// The first free interface index of a new namespace: 1 is the loopback device.
inline constexpr int first_ifindex = 2;
inline constexpr int loopback_ifindex = 1;
inline constexpr const char* loopback_name = "lo";

// One end of a veth pair, created directly in its namespace.
struct Endpoint {
  const NetworkNamespace& network_namespace;
  std::string device;
  int ifindex;
  std::optional<std::string> hardware_address = {};  // "02:00:0a:4d:00:01"; nullopt: the kernel chooses
};

void add_bridge(const NetlinkSocket& socket, const std::string& device, int ifindex);

void add_veth(const NetlinkSocket& socket, const Endpoint& a, const Endpoint& b);

struct DeviceSettings {
  std::optional<int> bridge = {};              // the bridge to become a port of
  std::optional<unsigned> gso_max_bytes = {};  // gso_max_size
  std::optional<unsigned> mtu_bytes = {};      // the MTU
};

// Applies the settings and brings the device up. Throws Error if the kernel then holds a gso_max_size other
// than the one asked for. `device`: its name for messages.
void bring_up_device(const NetlinkSocket& socket, const std::string& device, int ifindex,
                     const DeviceSettings& settings = {});

// Takes a device down or brings it up, and reads back that it is. A device that goes down loses its routes
// and neighbour entries. Its peer keeps them, but has no carrier. `device`: its name for messages.
void set_device_up(const NetlinkSocket& socket, const std::string& device, int ifindex, bool up);

// Deletes the namespace's devices of group device_group, and with them their peers elsewhere. Throws if there
// are none.
void delete_devices(const NetlinkSocket& socket);

// Returns the number of frames that the namespace's devices dropped, or failed to send or receive, since they
// were created.
std::uint64_t frames_lost(const NetlinkSocket& socket);

}  // namespace thinpipe::netem
