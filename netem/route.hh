// Addresses, routes and neighbours: what hosts and routers know of the subnet.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "netem/netlink.hh"
#include "netem/topology.hh"

namespace thinpipe::netem {

// The congestion control that every route of a host names, whatever the machine's default is. (A namespace
// that an ordinary user made may not change its default, but a route may name any algorithm the kernel has.)
inline constexpr const char* route_congestion_control = "cubic";

// Of the host with this index: "10.77.0.1" and "02:00:0a:4d:00:01" for 0.
std::string host_address(std::size_t index);
std::string host_hardware_address(std::size_t index);

// Gives the device the address of host `index` and a route to the whole subnet: to neighbours on the wire, or
// to the gateway. Packets are of packet_bytes at most (frame.hh).
void add_address_and_route(const NetlinkSocket& socket, int ifindex, std::size_t index,
                           Forwarding forwarding);

// Lets hosts send packets as large as their devices take to each other, in as few routes as addresses allow;
// for bridged networks.
class LargePacketRoutes {
 public:
  // On devices with this index, to hosts with these indices, ascending.
  LargePacketRoutes(int ifindex, const std::vector<std::size_t>& hosts);

  // Adds them to one of the hosts, whose socket it is.
  void add(const NetlinkSocket& socket) const;

 private:
  std::vector<char> requests_;
};

// Permanent entries for every host, so that no ARP is ever sent; for bridged networks.
class Neighbours {
 public:
  // On devices with this index, for hosts 0 to hosts - 1.
  Neighbours(int ifindex, std::size_t hosts);

  // Adds every host but `own`, whose socket it is.
  void add(const NetlinkSocket& socket, std::size_t own) const;

 private:
  std::vector<char> requests_;
  std::size_t request_bytes_ = 0;
};

// In a routed network whatever is at the other end of a device is "the gateway" there: it has the same
// address on every device, and this permanent entry says which hardware address that means.
void add_gateway(const NetlinkSocket& socket, int ifindex, const std::string& hardware_address);

// Sends what is for host `index` to the gateway of the device.
void add_host_route(const NetlinkSocket& socket, int ifindex, std::size_t index);

}  // namespace thinpipe::netem
