// SPDX-License-Identifier: Apache-2.0
// The devices of a built network: bridges or routers with their ports, and the shapers of every link.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "netem/kernel/ip_routes.hh"
#include "netem/kernel/link.hh"
#include "netem/kernel/qdisc_stack.hh"
#include "netem/network.hh"
#include "netem/topology/schedule.hh"

namespace thinpipe::netem {

// Device names: the bridge of a bridged switch has the switch's name; the ports of any switch are
// "<switch>.0", "<switch>.1" and so on; a host has "eth0".
class Network::Devices {
 public:
  // `hosts` must outlive this.
  Devices(const Topology& topology, const Schedule& schedule, const std::vector<Host>& hosts);
  // Deletes every device and waits for the deletion, so that a later network does not compete with the
  // kernel's own clean-up.
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  std::vector<LinkCounters> counters() const;
  const std::vector<ShapedDirection>& shaping() const { return shaping_; }
  std::uint64_t frames_lost() const;
  const ShapedDirection& reshape(const DirectedLink& direction, const LinkShape& asked);
  void set_link_up(std::size_t link, bool up);
  LinkEnd link_end(std::size_t link) const;

 private:
  // A namespace with switches: all bridges share one, each router has its own.
  struct Location {
    NetworkNamespace network_namespace;
    NetlinkSocket socket;
  };

  // Where a link ends: a new port of a switch, or a host's only device.
  struct End {
    Endpoint endpoint;
    const NetlinkSocket* socket;
    DeviceSettings settings;
    std::optional<std::size_t> host;  // its index
  };

  // One end of a link, for as long as the network exists.
  struct Port {
    const NetlinkSocket* socket = nullptr;  // open for a switch; a host's may be closed
    const NetworkNamespace* network_namespace = nullptr;
    std::string device = {};
    int ifindex = 0;
    bool of_switch = false;
    std::string gateway = {};                // the hardware address at the other end
    std::vector<std::size_t> routed = {};    // hosts that a router reaches through this port
    std::optional<std::size_t> shaped = {};  // its index in shaping_
  };

  static Location make_location();
  void add_switches(const Topology& topology);
  void prepare_large_packet_routes(const Topology& topology);
  void add_link(const Link& link);
  End make_end(const std::string& node, bool uncapped);
  // Shapes the direction that `sender` sends into. Returns its index in shaping_.
  std::size_t shape(const std::string& from, const std::string& to, const End& sender, const LinkShape& asked,
                    bool impaired);
  // Brings up the device at this end and configures the host that owns it, if any.
  void finish(const End& end, const End& peer, bool shaped);
  void add_routes(const Topology& topology);
  void add_routes(const Port& port) const;

  // Devices whose counters one socket reads, and their indices in shaping_.
  struct Readings {
    std::vector<ShapedDevice> devices;
    std::vector<std::size_t> order;
  };

  // The position of a shaped direction in readings_.
  struct Reading {
    const NetlinkSocket* socket;
    std::size_t index;
  };

  const std::vector<Host>& hosts_;
  Forwarding forwarding_;
  unsigned packet_bytes_;
  std::vector<std::string> congestion_controls_;  // by host
  std::map<std::string, std::size_t> host_index_;
  Neighbours neighbours_;
  // By host: routes to the hosts that it reaches without a cap. Null in a routed network, and if there are
  // none.
  std::vector<std::shared_ptr<const LargePacketRoutes>> large_packet_routes_;
  unsigned largest_segment_bytes_;
  // Links are created from here, directly in other namespaces. It has no device but the loopback device:
  // kernels before about 6.12 refuse an interface index that is taken in the requesting namespace.
  Location staging_;
  std::vector<std::unique_ptr<Location>> locations_;
  // By host: open while the host is built; kept only if the host's end of its link is shaped, to save
  // descriptors.
  std::vector<std::unique_ptr<NetlinkSocket>> host_sockets_;
  std::map<std::string, Location*> location_of_;  // by switch
  std::map<std::string, int> bridges_;            // interface index, by bridged switch
  std::map<std::string, int> ports_;              // number used so far, by switch
  int next_ifindex_ = first_ifindex;
  std::set<std::pair<std::size_t, bool>> impaired_;  // link and forward, of directions impaired now or later
  std::vector<std::pair<Port, Port>> link_ends_;     // by link
  std::vector<ShapedDirection> shaping_;
  std::vector<Reading> reading_of_;  // in the order of shaping_
  std::map<const NetlinkSocket*, Readings> readings_;
};

}  // namespace thinpipe::netem
