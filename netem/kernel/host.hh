// SPDX-License-Identifier: Apache-2.0
// One host of the virtual network.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netem/kernel/network_namespace.hh"

namespace thinpipe::netem {

// The name of a host's only network interface, except on a loopback topology.
inline constexpr const char* host_interface = "eth0";

struct Host {
  std::string name;
  std::string address;                                     // dotted IPv4
  std::optional<NetworkNamespace> network_namespace = {};  // nullopt on a loopback topology
  // How long a call of its sockets may wait: connect_limit_s() of its network (hops.hh).
  double timeout_s = 5;

  // Moves the calling process into the host: into its network namespace, and into IPC and mount namespaces of
  // its own with an empty /dev/shm, so that no library bypasses the network. Call it in a forked child that
  // has one thread. Does nothing on a loopback topology.
  void enter() const;
};

// The hosts of a network, whichever process built it.
struct HostList {
  const std::string& network;  // its name
  const std::vector<Host>& hosts;

  // Throws Error if there is none of this name.
  const Host& find(std::string_view name) const;
};

}  // namespace thinpipe::netem
