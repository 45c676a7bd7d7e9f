#include "netem/route.hh"

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

namespace thinpipe::netem {
namespace {

constexpr int prefix_length = 16;

void add_address(const NetlinkSocket& socket, int ifindex, const std::string& address) {
  const std::string attempt = "add the address " + address;
  const auto entry = own<OwnedAddress>(rtnl_addr_alloc());
  rtnl_addr_set_ifindex(entry.get(), ifindex);
  const OwnedBytes local = parse_address(fmt::format("{}/{}", address, prefix_length), AF_INET);
  netlink_call(attempt, rtnl_addr_set_local(entry.get(), local.get()));
  // The route of our own names the congestion control; the kernel's would not.
  rtnl_addr_set_flags(entry.get(), IFA_F_NOPREFIXROUTE);
  socket.send(attempt,
              build_message(attempt, rtnl_addr_build_add_request, entry.get(), NLM_F_CREATE | NLM_F_EXCL));
}

void add_route(const NetlinkSocket& socket, int ifindex, const std::string& address) {
  const std::string attempt = fmt::format("add a route from {} with {}", address, route_congestion_control);
  const auto route = own<OwnedRoute>(rtnl_route_alloc());
  const OwnedBytes subnet = parse_address(fmt::format("10.77.0.0/{}", prefix_length), AF_INET);
  const OwnedBytes source = parse_address(address, AF_INET);
  rtnl_route_set_scope(route.get(), RT_SCOPE_LINK);
  rtnl_route_set_protocol(route.get(), RTPROT_STATIC);
  netlink_call(attempt, rtnl_route_set_dst(route.get(), subnet.get()));
  netlink_call(attempt, rtnl_route_set_pref_src(route.get(), source.get()));
  rtnl_nexthop* hop = rtnl_route_nh_alloc();
  netlink_call(attempt, hop == nullptr ? -NLE_NOMEM : 0);
  rtnl_route_nh_set_ifindex(hop, ifindex);
  rtnl_route_add_nexthop(route.get(), hop);  // which owns it from here on
  const OwnedMessage message =
      build_message(attempt, rtnl_route_build_add_request, route.get(), NLM_F_CREATE | NLM_F_EXCL);
  // By hand: libnl writes every metric as a number, and this one is a string.
  nlattr* metrics = nla_nest_start(message.get(), RTA_METRICS);
  netlink_call(attempt, metrics == nullptr ? -NLE_NOMEM : 0);
  netlink_call(attempt, nla_put_string(message.get(), RTAX_CC_ALGO, route_congestion_control));
  nla_nest_end(message.get(), metrics);
  socket.send(attempt, message);
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

void add_address_and_route(const NetlinkSocket& socket, int ifindex, std::size_t index) {
  add_address(socket, ifindex, host_address(index));
  add_route(socket, ifindex, host_address(index));
}

void add_neighbour(const NetlinkSocket& socket, int ifindex, std::size_t index) {
  const std::string attempt = "add the neighbour " + host_address(index);
  const auto entry = own<OwnedNeighbour>(rtnl_neigh_alloc());
  rtnl_neigh_set_ifindex(entry.get(), ifindex);
  rtnl_neigh_set_state(entry.get(), NUD_PERMANENT);
  const OwnedBytes destination = parse_address(host_address(index), AF_INET);
  const OwnedBytes hardware = parse_address(host_hardware_address(index), AF_LLC);
  netlink_call(attempt, rtnl_neigh_set_dst(entry.get(), destination.get()));
  rtnl_neigh_set_lladdr(entry.get(), hardware.get());
  socket.send(attempt,
              build_message(attempt, rtnl_neigh_build_add_request, entry.get(), NLM_F_CREATE | NLM_F_EXCL));
}

}  // namespace thinpipe::netem
