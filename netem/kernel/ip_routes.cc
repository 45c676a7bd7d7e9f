// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/ip_routes.hh"

#include <bit>
#include <optional>

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

namespace thinpipe::netem {
namespace {

constexpr int prefix_length = 16;
constexpr const char* subnet = "10.77.0.0/16";
constexpr const char* gateway_address = "10.78.0.1";

void add_address(const NetlinkSocket& socket, int ifindex, const std::string& address) {
  const std::string attempt = "add the address " + address;
  const auto entry = own<OwnedAddress>(rtnl_addr_alloc());
  rtnl_addr_set_ifindex(entry.get(), ifindex);
  const OwnedBytes local = parse_address(fmt::format("{}/{}", address, prefix_length), AF_INET);
  netlink_call(attempt, rtnl_addr_set_local(entry.get(), local.get()));
  // Suppresses the kernel's own route, which would not name the congestion control.
  rtnl_addr_set_flags(entry.get(), IFA_F_NOPREFIXROUTE);
  socket.send(attempt,
              build_message(attempt, rtnl_addr_build_add_request, entry.get(), NLM_F_CREATE | NLM_F_EXCL));
}

// Returns a route over the device: direct if bridged, through the gateway if routed.
OwnedRoute make_route(const std::string& attempt, int ifindex, const std::string& destination,
                      Forwarding forwarding) {
  auto route = own<OwnedRoute>(rtnl_route_alloc());
  const OwnedBytes where = parse_address(destination, AF_INET);
  rtnl_route_set_protocol(route.get(), RTPROT_STATIC);
  netlink_call(attempt, rtnl_route_set_dst(route.get(), where.get()));
  rtnl_nexthop* hop = rtnl_route_nh_alloc();
  netlink_call(attempt, hop == nullptr ? -NLE_NOMEM : 0);
  rtnl_route_nh_set_ifindex(hop, ifindex);
  rtnl_route_add_nexthop(route.get(), hop);  // takes ownership
  if (forwarding == Forwarding::routed) {
    const OwnedBytes gateway = parse_address(gateway_address, AF_INET);
    rtnl_route_nh_set_gateway(hop, gateway.get());
    rtnl_route_nh_set_flags(hop, RTNH_F_ONLINK);
    rtnl_route_set_scope(route.get(), RT_SCOPE_UNIVERSE);
  } else {
    rtnl_route_set_scope(route.get(), RT_SCOPE_LINK);
  }
  return route;
}

// Returns the request for a host's route, which names the congestion control. `mtu_bytes`: nullopt
// for the device's MTU.
OwnedMessage host_route_request(const std::string& attempt, int ifindex, const std::string& destination,
                                Forwarding forwarding, std::optional<unsigned> mtu_bytes,
                                const std::string& congestion_control) {
  const OwnedRoute route = make_route(attempt, ifindex, destination, forwarding);
  OwnedMessage message =
      build_message(attempt, rtnl_route_build_add_request, route.get(), NLM_F_CREATE | NLM_F_EXCL);
  // Built by hand: libnl writes every metric as a number, but this one is a string.
  nlattr* metrics = nla_nest_start(message.get(), RTA_METRICS);
  netlink_call(attempt, metrics == nullptr ? -NLE_NOMEM : 0);
  netlink_call(attempt, nla_put_string(message.get(), RTAX_CC_ALGO, congestion_control.c_str()));
  if (mtu_bytes) {
    netlink_call(attempt, nla_put_u32(message.get(), RTAX_MTU, *mtu_bytes));
  }
  nla_nest_end(message.get(), metrics);
  return message;
}

OwnedMessage neighbour_request(const std::string& attempt, int ifindex, const std::string& address,
                               const std::string& hardware_address) {
  const auto entry = own<OwnedNeighbour>(rtnl_neigh_alloc());
  rtnl_neigh_set_ifindex(entry.get(), ifindex);
  rtnl_neigh_set_state(entry.get(), NUD_PERMANENT);
  const OwnedBytes destination = parse_address(address, AF_INET);
  const OwnedBytes hardware = parse_address(hardware_address, AF_LLC);
  netlink_call(attempt, rtnl_neigh_set_dst(entry.get(), destination.get()));
  rtnl_neigh_set_lladdr(entry.get(), hardware.get());
  return build_message(attempt, rtnl_neigh_build_add_request, entry.get(), NLM_F_CREATE | NLM_F_EXCL);
}

}  // namespace

std::string host_address(std::size_t index) {
  const std::size_t number = index + 1;
  return fmt::format("10.77.{}.{}", number / 256, number % 256);
}

std::string host_hardware_address(std::size_t index) {
  const std::size_t number = index + 1;
  return fmt::format("02:00:0a:4d:{:02x}:{:02x}", number / 256, number % 256);
}

void add_address_and_route(const NetlinkSocket& socket, int ifindex, std::size_t index, Forwarding forwarding,
                           unsigned packet_bytes, const std::string& congestion_control) {
  add_address(socket, ifindex, host_address(index));
  const std::string attempt =
      fmt::format("add a route from {} with {}", host_address(index), congestion_control);
  socket.send(attempt,
              host_route_request(attempt, ifindex, subnet, forwarding, packet_bytes, congestion_control));
}

LargePacketRoutes::LargePacketRoutes(int ifindex, const std::vector<std::size_t>& hosts,
                                     const std::string& congestion_control) {
  for (std::size_t i = 0; i < hosts.size();) {
    const auto number = hosts[i] + 1;  // of the address; a block begins at a multiple of its size
    std::size_t block = 1;
    while (number % (2 * block) == 0 && i + 2 * block <= hosts.size() &&
           hosts[i + 2 * block - 1] == hosts[i] + 2 * block - 1) {
      block *= 2;
    }
    const std::string destination =
        fmt::format("{}/{}", host_address(hosts[i]), 32 - std::countr_zero(block));
    append_request(requests_, host_route_request("prepare a route for large packets", ifindex, destination,
                                                 Forwarding::bridged, {}, congestion_control));
    i += block;
  }
}

void LargePacketRoutes::add(const NetlinkSocket& socket) const {
  socket.send_together("add routes for large packets", requests_);
}

Neighbours::Neighbours(int ifindex, std::size_t hosts) {
  for (std::size_t i = 0; i < hosts; ++i) {
    const OwnedMessage message =
        neighbour_request("prepare a neighbour", ifindex, host_address(i), host_hardware_address(i));
    append_request(requests_, message);
    request_bytes_ = requests_.size() / (i + 1);  // all requests have the same size
  }
}

void Neighbours::add(const NetlinkSocket& socket, std::size_t own) const {
  std::vector<char> others = requests_;
  const auto begin = others.begin() + static_cast<std::ptrdiff_t>(own * request_bytes_);
  others.erase(begin, begin + static_cast<std::ptrdiff_t>(request_bytes_));
  socket.send_together("add the neighbours of " + host_address(own), std::move(others));
}

void add_gateway(const NetlinkSocket& socket, const std::string& device, int ifindex,
                 const std::string& hardware_address) {
  const std::string attempt = fmt::format("add the gateway {} on the device {}", hardware_address, device);
  socket.send(attempt, neighbour_request(attempt, ifindex, gateway_address, hardware_address));
}

void add_host_route(const NetlinkSocket& socket, const std::string& device, int ifindex, std::size_t index) {
  const std::string attempt =
      fmt::format("add the route to {} on the device {}", host_address(index), device);
  const OwnedRoute route = make_route(attempt, ifindex, host_address(index), Forwarding::routed);
  socket.send(attempt,
              build_message(attempt, rtnl_route_build_add_request, route.get(), NLM_F_CREATE | NLM_F_EXCL));
}

}  // namespace thinpipe::netem
