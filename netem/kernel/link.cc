// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/link.hh"

#include <fmt/format.h>
#include <net/if.h>
#include <netlink/route/link/bridge.h>
#include <netlink/route/link/veth.h>

namespace thinpipe::netem {
namespace {

void describe(rtnl_link* link, const Endpoint& end) {
  rtnl_link_set_name(link, end.device.c_str());
  rtnl_link_set_ifindex(link, end.ifindex);
  rtnl_link_set_ns_fd(link, end.network_namespace.fd());
  if (end.hardware_address) {
    rtnl_link_set_addr(link, parse_address(*end.hardware_address, AF_LLC).get());
  }
}

OwnedLink empty_link() {
  return own<OwnedLink>(rtnl_link_alloc());
}

OwnedLink read_device(const NetlinkSocket& socket, const std::string& device, int ifindex) {
  rtnl_link* found = nullptr;
  netlink_call("read the device " + device + " back",
               rtnl_link_get_kernel(socket.get(), ifindex, nullptr, &found));
  return OwnedLink(found);
}

// If the kernel silently rounded or refused this, the shapers would split every segment.
void check_largest_segment(const NetlinkSocket& socket, const std::string& device, int ifindex,
                           unsigned asked) {
  const OwnedLink link = read_device(socket, device, ifindex);
  std::uint32_t held = 0;
  netlink_call("read gso_max_size of " + device + " back", rtnl_link_get_gso_max_size(link.get(), &held));
  if (held != asked) {
    throw Error(
        fmt::format("set gso_max_size of {}: asked for {}, but the kernel holds {}", device, asked, held));
  }
}

}  // namespace

void add_bridge(const NetlinkSocket& socket, const std::string& device, int ifindex) {
  const std::string attempt = "create the bridge " + device;
  const auto link = own<OwnedLink>(rtnl_link_bridge_alloc());
  rtnl_link_set_name(link.get(), device.c_str());
  rtnl_link_set_ifindex(link.get(), ifindex);
  socket.send(attempt,
              build_message(attempt, rtnl_link_build_add_request, link.get(), NLM_F_CREATE | NLM_F_EXCL));
}

void add_veth(const NetlinkSocket& socket, const Endpoint& a, const Endpoint& b) {
  const std::string attempt = fmt::format("create the veth pair {} and {}", a.device, b.device);
  const auto link = own<OwnedLink>(rtnl_link_veth_alloc());
  const OwnedLink peer(rtnl_link_veth_get_peer(link.get()));
  describe(link.get(), a);
  describe(peer.get(), b);
  socket.send(attempt,
              build_message(attempt, rtnl_link_build_add_request, link.get(), NLM_F_CREATE | NLM_F_EXCL));
}

void bring_up_device(const NetlinkSocket& socket, const std::string& device, int ifindex,
                     const DeviceSettings& settings) {
  const std::string attempt = "bring up the device " + device;
  const OwnedLink link = empty_link();
  rtnl_link_set_ifindex(link.get(), ifindex);
  const OwnedLink changes = empty_link();
  rtnl_link_set_flags(changes.get(), IFF_UP);
  // Set here, not when a pair is created: the kernel ignores the group of the second end.
  if (ifindex != loopback_ifindex) rtnl_link_set_group(changes.get(), device_group);
  if (settings.bridge) rtnl_link_set_master(changes.get(), *settings.bridge);
  if (settings.mtu_bytes) rtnl_link_set_mtu(changes.get(), *settings.mtu_bytes);
  const OwnedMessage message =
      build_message(attempt, rtnl_link_build_change_request, link.get(), changes.get(), 0);
  if (settings.gso_max_bytes) {
    netlink_call(attempt, nla_put_u32(message.get(), IFLA_GSO_MAX_SIZE, *settings.gso_max_bytes));
  }
  socket.send(attempt, message);
  if (settings.gso_max_bytes) check_largest_segment(socket, device, ifindex, *settings.gso_max_bytes);
}

void set_device_up(const NetlinkSocket& socket, const std::string& device, int ifindex, bool up) {
  const std::string attempt = fmt::format("take the device {} {}", device, up ? "up" : "down");
  const OwnedLink link = empty_link();
  rtnl_link_set_ifindex(link.get(), ifindex);
  const OwnedLink changes = empty_link();
  (up ? rtnl_link_set_flags : rtnl_link_unset_flags)(changes.get(), IFF_UP);
  socket.send(attempt, build_message(attempt, rtnl_link_build_change_request, link.get(), changes.get(), 0));
  const bool held = (rtnl_link_get_flags(read_device(socket, device, ifindex).get()) & IFF_UP) != 0;
  if (held != up) throw Error(fmt::format("{}: the kernel reports it as {}", attempt, held ? "up" : "down"));
}

void delete_devices(const NetlinkSocket& socket) {
  const std::string attempt = "delete the network's devices";
  const OwnedMessage message(nlmsg_alloc_simple(RTM_DELLINK, NLM_F_REQUEST | NLM_F_ACK));
  ifinfomsg header{};
  netlink_call(attempt, nlmsg_append(message.get(), &header, sizeof header, NLMSG_ALIGNTO));
  netlink_call(attempt, nla_put_u32(message.get(), IFLA_GROUP, device_group));
  socket.send(attempt, message);
}

std::uint64_t frames_lost(const NetlinkSocket& socket) {
  nl_cache* filled = nullptr;
  netlink_call("list devices", rtnl_link_alloc_cache(socket.get(), AF_UNSPEC, &filled));
  const OwnedCache cache(filled);
  std::uint64_t lost = 0;
  for (nl_object* object = nl_cache_get_first(cache.get()); object != nullptr;
       object = nl_cache_get_next(object)) {
    auto* link = reinterpret_cast<rtnl_link*>(object);
    for (const auto counter :
         {RTNL_LINK_RX_DROPPED, RTNL_LINK_TX_DROPPED, RTNL_LINK_RX_ERRORS, RTNL_LINK_TX_ERRORS}) {
      lost += rtnl_link_get_stat(link, counter);
    }
  }
  return lost;
}

}  // namespace thinpipe::netem
