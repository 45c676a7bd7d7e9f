// SPDX-License-Identifier: Apache-2.0
// Addresses, routes and neighbour entries of hosts and routers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "netem/kernel/netlink.hh"
#include "netem/topology/topology.hh"

namespace thinpipe::netem {

// Return the addresses of the host with this index: "10.77.0.1" and "02:00:0a:4d:00:01" for 0.
std::string host_address(std::size_t index);
std::string host_hardware_address(std::size_t index);

// Gives the device the address of host `index` and a route to the whole subnet: direct if bridged, through
// the gateway if routed. The route's packets have at most packet_bytes. The route names the congestion
// control: a namespace of an ordinary user may not change its default, but a route may name any that the kernel has.
void add_address_and_route(const NetlinkSocket& socket, int ifindex, std::size_t index, Forwarding forwarding,
                           unsigned packet_bytes, const std::string& congestion_control);

// Routes over which hosts send each other packets as large as their devices allow; as few routes as the
// addresses permit. For bridged networks.
class LargePacketRoutes {
 public:
  // `ifindex`: of the device on every host. `hosts`: their indices, ascending.
  LargePacketRoutes(int ifindex, const std::vector<std::size_t>& hosts,
                    const std::string& congestion_control);

  // Adds the routes to one of these hosts: the one that `socket` belongs to.
  void add(const NetlinkSocket& socket) const;

 private:
  std::vector<char> requests_;
};

// Permanent neighbour entries for every host, so that no ARP request is ever sent. For bridged networks.
class Neighbours {
 public:
  // `ifindex`: of the device on every host. The entries are for hosts 0 to hosts - 1.
  Neighbours(int ifindex, std::size_t hosts);

  // Adds the entries to host `own`, which `socket` belongs to, except the entry for itself.
  void add(const NetlinkSocket& socket, std::size_t own) const;

 private:
  std::vector<char> requests_;
  std::size_t request_bytes_ = 0;
};

// Adds the permanent neighbour entry of a device's gateway. In a routed network the other end of a device is
// its gateway. It has the same IP address on every device, and this entry maps it to a hardware address.
// `device`: its name for messages.
void add_gateway(const NetlinkSocket& socket, const std::string& device, int ifindex,
                 const std::string& hardware_address);

// Routes packets for host `index` to the device's gateway.
void add_host_route(const NetlinkSocket& socket, const std::string& device, int ifindex, std::size_t index);

}  // namespace thinpipe::netem
