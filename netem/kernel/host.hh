// One host of the virtual network.
#pragma once

#include <optional>
#include <string>

#include "netem/kernel/network_namespace.hh"

namespace thinpipe::netem {

// The name of a host's only network interface, except on a loopback topology.
inline constexpr const char* host_interface = "eth0";

struct Host {
  std::string name;
  std::string address;                                     // dotted IPv4
  std::optional<NetworkNamespace> network_namespace = {};  // nullopt on a loopback topology

  // Moves the calling process into the host: into its network namespace, and into IPC and mount namespaces of
  // its own with an empty /dev/shm, so that no library bypasses the network. Call it in a forked child that
  // has one thread. Does nothing on a loopback topology.
  void enter() const;
};

}  // namespace thinpipe::netem
