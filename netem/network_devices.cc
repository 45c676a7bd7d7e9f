// SPDX-License-Identifier: Apache-2.0
#include "netem/network_devices.hh"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "netem/topology/frame.hh"
#include "netem/topology/hops.hh"
#include "netem/topology/shortest_paths.hh"

namespace thinpipe::netem {
namespace {

constexpr unsigned kernels_largest_segment = 65536;

NetlinkSocket socket_in(const NetworkNamespace& location) {
  std::optional<NetlinkSocket> socket;
  location.run([&] { socket.emplace(); });
  return std::move(*socket);
}

// Returns one segment size for all hosts and for the network's whole life: a host's segments may reach any
// shaper.
unsigned largest_segment_of(const Topology& topology, const Schedule& schedule) {
  unsigned smallest = kernels_largest_segment;
  const auto consider = [&smallest](const Direction& direction) {
    if (direction.rate_bit_per_s)
      smallest = std::min(smallest, largest_segment_bytes(link_shape_of(direction)));
  };
  for (const Link& link : topology.links) {
    consider(link.forward);
    consider(link.backward);
  }
  visit_states(topology, schedule,
               [&](const DirectedLink&, const Direction& direction, const Place&) { consider(direction); });
  return smallest;
}

std::string port_hardware_address(int ifindex) {
  return fmt::format("02:01:0a:4d:{:02x}:{:02x}", ifindex / 256, ifindex % 256);
}

}  // namespace

Network::Devices::Devices(const Topology& topology, const Schedule& schedule, const std::vector<Host>& hosts)
    : hosts_(hosts),
      forwarding_(topology.forwarding),
      packet_bytes_(topology.frame.packet_bytes),
      congestion_controls_(congestion_controls(topology)),
      neighbours_(first_ifindex, forwarding_ == Forwarding::bridged ? hosts.size() : 0),
      large_packet_routes_(hosts.size()),
      largest_segment_bytes_(largest_segment_of(topology, schedule)),
      staging_(make_location()),
      host_sockets_(hosts.size()) {
  for (std::size_t i = 0; i < hosts.size(); ++i) host_index_[hosts[i].name] = i;
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    if (topology.links[i].forward.impairments.any()) impaired_.insert({i, true});
    if (topology.links[i].backward.impairments.any()) impaired_.insert({i, false});
  }
  visit_states(topology, schedule,
               [&](const DirectedLink& directed_link, const Direction& direction, const thinpipe::Place&) {
                 if (direction.impairments.any())
                   impaired_.insert({directed_link.link, directed_link.forward});
               });
  if (forwarding_ == Forwarding::bridged) prepare_large_packet_routes(topology);
  add_switches(topology);
  for (const Link& link : topology.links) add_link(link);
  if (forwarding_ == Forwarding::routed) add_routes(topology);
}

Network::Devices::~Devices() {
  for (const auto& location : locations_) {
    try {
      delete_devices(location->socket);
    } catch (const std::exception&) {
      // Its devices went with their peers elsewhere. The rest, such as links between two hosts, goes with the
      // namespaces.
    }
  }
}

Network::Devices::Location Network::Devices::make_location() {
  NetworkNamespace location;
  NetlinkSocket socket = socket_in(location);
  return {std::move(location), std::move(socket)};
}

void Network::Devices::add_switches(const Topology& topology) {
  const auto add_place = [this] {
    locations_.push_back(std::make_unique<Location>(make_location()));
    return locations_.back().get();
  };
  if (forwarding_ == Forwarding::bridged) add_place();
  for (const std::string& name : topology.switches) {
    if (forwarding_ == Forwarding::routed) {
      location_of_[name] = add_place();
      location_of_[name]->network_namespace.forward_packets();
      // The loopback address creates the kernel's table of local addresses; without it no gateway is
      // accepted.
      bring_up_device(location_of_[name]->socket, fmt::format("{} of {}", loopback_name, name),
                      loopback_ifindex);
    } else {
      location_of_[name] = locations_.front().get();
      bridges_[name] = next_ifindex_++;
      add_bridge(locations_.front()->socket, name, bridges_[name]);
      bring_up_device(locations_.front()->socket, name, bridges_[name]);
    }
  }
}

Network::Devices::End Network::Devices::make_end(const std::string& node, bool uncapped) {
  const bool is_large = uncapped && forwarding_ == Forwarding::bridged;
  const unsigned mtu_bytes = is_large ? uncapped_packet_bytes : packet_bytes_;
  if (const auto found = location_of_.find(node); found != location_of_.end()) {
    const Location& location = *found->second;
    const int ifindex = next_ifindex_++;
    DeviceSettings settings{.mtu_bytes = mtu_bytes};
    if (forwarding_ == Forwarding::bridged) settings.bridge = bridges_.at(node);
    return {{location.network_namespace, fmt::format("{}.{}", node, ports_[node]++), ifindex,
             port_hardware_address(ifindex)},
            &location.socket,
            settings,
            {}};
  }
  const std::size_t index = host_index_.at(node);
  const NetworkNamespace& location = *hosts_[index].network_namespace;
  host_sockets_[index] = std::make_unique<NetlinkSocket>(socket_in(location));
  return {{location, host_interface, first_ifindex, host_hardware_address(index)},
          host_sockets_[index].get(),
          {.gso_max_bytes = largest_segment_bytes_, .mtu_bytes = mtu_bytes},
          index};
}

void Network::Devices::add_link(const Link& link) {
  const End a = make_end(link.a, is_uncapped(link));
  const End b = make_end(link.b, is_uncapped(link));
  add_veth(staging_.socket, a.endpoint, b.endpoint);
  const std::size_t index = link_ends_.size();
  const auto port = [](const End& end, const End& peer) {
    return Port{.socket = end.socket,
                .network_namespace = &end.endpoint.network_namespace,
                .device = end.endpoint.device,
                .ifindex = end.endpoint.ifindex,
                .of_switch = !end.host,
                .gateway = *peer.endpoint.hardware_address};
  };
  auto& [a_port, b_port] = link_ends_.emplace_back(port(a, b), port(b, a));
  const bool a_shaped = link.forward.rate_bit_per_s.has_value();
  const bool b_shaped = link.backward.rate_bit_per_s.has_value();
  if (a_shaped) {
    a_port.shaped = shape(link.a, link.b, a, link_shape_of(link.forward), impaired_.contains({index, true}));
  }
  if (b_shaped) {
    b_port.shaped =
        shape(link.b, link.a, b, link_shape_of(link.backward), impaired_.contains({index, false}));
  }
  finish(a, b, a_shaped);
  finish(b, a, b_shaped);
}

std::size_t Network::Devices::shape(const std::string& from, const std::string& to, const End& sender,
                                    const LinkShape& asked, bool impaired) {
  const ShapedDevice device{direction_name(from, to), sender.endpoint.ifindex, impaired, asked.ecn};
  Readings& readings = readings_[sender.socket];
  readings.devices.push_back(device);
  readings.order.push_back(shaping_.size());
  reading_of_.push_back({sender.socket, readings.devices.size() - 1});
  shaping_.push_back({device.name, asked, shape_device(*sender.socket, device, asked)});
  return shaping_.size() - 1;
}

const ShapedDirection& Network::Devices::reshape(const DirectedLink& direction, const LinkShape& asked) {
  const auto& [a, b] = link_ends_.at(direction.link);
  const std::size_t location = (direction.forward ? a : b).shaped.value();
  const Reading& reading = reading_of_[location];
  ShapedDirection& shaped = shaping_[location];
  if (asked == shaped.asked) return shaped;  // the kernel would fill its bucket again
  shaped.read_back =
      reshape_device(*reading.socket, readings_.at(reading.socket).devices[reading.index], asked);
  shaped.asked = asked;
  return shaped;
}

void Network::Devices::set_link_up(std::size_t link, bool up) {
  const auto& [a, b] = link_ends_.at(link);
  // The switch's port goes down, so that the host keeps its routes and thus its connections.
  const Port& port = a.of_switch ? a : b;
  if (!port.of_switch) throw Error("take down a link between two hosts: neither end is a port of a switch");
  set_device_up(*port.socket, port.device, port.ifindex, up);
  if (up && forwarding_ == Forwarding::routed) {
    add_gateway(*port.socket, port.device, port.ifindex, port.gateway);
    add_routes(port);
  }
  for (const Port* const end : {&a, &b}) {
    if (end->shaped) shaping_[*end->shaped].up = up;
  }
}

LinkEnd Network::Devices::link_end(std::size_t link) const {
  const auto& [a, b] = link_ends_.at(link);
  const Port& port = a.of_switch ? a : b;
  return {*port.network_namespace, port.device};
}

void Network::Devices::finish(const End& end, const End& peer, bool shaped) {
  // Every host has a device of the same name.
  const auto named = [&](const std::string& device) {
    return end.host ? fmt::format("{} of {}", device, hosts_[*end.host].name) : device;
  };
  const std::string device = named(end.endpoint.device);
  bring_up_device(*end.socket, device, end.endpoint.ifindex, end.settings);
  if (forwarding_ == Forwarding::routed) {
    add_gateway(*end.socket, device, end.endpoint.ifindex, *peer.endpoint.hardware_address);
  }
  if (!end.host) return;
  bring_up_device(*end.socket, named(loopback_name), loopback_ifindex);
  add_address_and_route(*end.socket, end.endpoint.ifindex, *end.host, forwarding_, packet_bytes_,
                        congestion_controls_[*end.host]);
  if (forwarding_ == Forwarding::bridged) neighbours_.add(*end.socket, *end.host);
  if (const auto& routes = large_packet_routes_[*end.host]) routes->add(*end.socket);
  if (!shaped) host_sockets_[*end.host].reset();
}

void Network::Devices::prepare_large_packet_routes(const Topology& topology) {
  for (const std::vector<std::string>& group : uncapped_groups(topology)) {
    if (group.size() == 1) continue;
    std::vector<std::size_t> members;
    for (const std::string& host : group) members.push_back(host_index_.at(host));
    std::map<std::string, std::shared_ptr<const LargePacketRoutes>> routes;  // by congestion control
    for (const std::size_t member : members) {
      const std::string& control = congestion_controls_[member];
      auto& shared = routes[control];
      if (!shared) shared = std::make_shared<LargePacketRoutes>(first_ifindex, members, control);
      large_packet_routes_[member] = shared;
    }
  }
}

void Network::Devices::add_routes(const Topology& topology) {
  const ShortestPaths shortest_paths(topology);
  for (const std::string& name : topology.switches) {
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      const DirectedLink next = shortest_paths.next(name, host);
      auto& [a, b] = link_ends_[next.link];
      (next.forward ? a : b).routed.push_back(host);
    }
  }
  for (const auto& [a, b] : link_ends_) {
    add_routes(a);
    add_routes(b);
  }
}

void Network::Devices::add_routes(const Port& port) const {
  for (const std::size_t host : port.routed) add_host_route(*port.socket, port.device, port.ifindex, host);
}

std::vector<LinkCounters> Network::Devices::counters() const {
  std::vector<LinkCounters> out(shaping_.size());
  for (const auto& [socket, readings] : readings_) {
    std::vector<LinkCounters> read = read_counters(*socket, readings.devices);
    for (std::size_t i = 0; i < read.size(); ++i) out[readings.order[i]] = std::move(read[i]);
  }
  return out;
}

std::uint64_t Network::Devices::frames_lost() const {
  std::uint64_t lost = 0;
  for (const auto& location : locations_) lost += netem::frames_lost(location->socket);
  for (const Host& host : hosts_) lost += netem::frames_lost(socket_in(*host.network_namespace));
  return lost;
}

}  // namespace thinpipe::netem
