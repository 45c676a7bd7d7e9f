// A host's place in the subnet: its address, its route, and its neighbours.
#pragma once

#include <cstddef>
#include <string>

#include "netem/netlink.hh"

namespace thinpipe::netem {

// The congestion control that every route of a host names, whatever the machine's default is. (A namespace
// that an ordinary user made may not change its default, but a route may name any algorithm the kernel has.)
inline constexpr const char* route_congestion_control = "cubic";

// Of the host with this index: "10.77.0.1" and "02:00:0a:4d:00:01" for 0.
std::string host_address(std::size_t index);
std::string host_hardware_address(std::size_t index);

// Gives the device the address of host `index` and a route to the whole subnet.
void add_address_and_route(const NetlinkSocket& socket, int ifindex, std::size_t index);

// A permanent neighbour entry for host `index`, so that no ARP is ever sent.
void add_neighbour(const NetlinkSocket& socket, int ifindex, std::size_t index);

}  // namespace thinpipe::netem
