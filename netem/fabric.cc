#include "netem/fabric.hh"

#include <algorithm>

#include <fmt/format.h>

#include "netem/topology/frame.hh"
#include "netem/topology/paths.hh"
#include "netem/topology/routes.hh"

namespace thinpipe::netem {
namespace {

constexpr unsigned kernels_largest_segment = 65536;

NetlinkSocket socket_in(const NetworkNamespace& place) {
  std::optional<NetlinkSocket> socket;
  place.run([&] { socket.emplace(); });
  return std::move(*socket);
}

// Returns one segment size for all hosts and for the network's whole life: a host's segments may reach any
// shaper.
unsigned largest_segment_of(const Topology& topology, const Schedule& schedule) {
  unsigned smallest = kernels_largest_segment;
  const auto consider = [&smallest](const Direction& direction) {
    if (direction.rate_bit_per_s) smallest = std::min(smallest, largest_segment_bytes(shape_of(direction)));
  };
  for (const Link& link : topology.links) {
    consider(link.forward);
    consider(link.backward);
  }
  visit_states(topology, schedule,
               [&](const Crossing&, const Direction& direction, const Place&) { consider(direction); });
  return smallest;
}

std::string port_hardware_address(int ifindex) {
  return fmt::format("02:01:0a:4d:{:02x}:{:02x}", ifindex / 256, ifindex % 256);
}

}  // namespace

Network::Fabric::Fabric(const Topology& topology, const Schedule& schedule, const std::vector<Host>& hosts)
    : hosts_(hosts),
      forwarding_(topology.forwarding),
      neighbours_(first_ifindex, forwarding_ == Forwarding::bridged ? hosts.size() : 0),
      large_packet_routes_(hosts.size()),
      largest_segment_bytes_(largest_segment_of(topology, schedule)),
      workshop_(make_place()),
      host_sockets_(hosts.size()) {
  for (std::size_t i = 0; i < hosts.size(); ++i) host_index_[hosts[i].name] = i;
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    if (topology.links[i].forward.impairments.any()) impaired_.insert({i, true});
    if (topology.links[i].backward.impairments.any()) impaired_.insert({i, false});
  }
  visit_states(topology, schedule,
               [&](const Crossing& crossing, const Direction& direction, const thinpipe::Place&) {
                 if (direction.impairments.any()) impaired_.insert({crossing.link, crossing.forward});
               });
  if (forwarding_ == Forwarding::bridged) prepare_large_packet_routes(topology);
  add_switches(topology);
  for (const Link& link : topology.links) add_link(link);
  if (forwarding_ == Forwarding::routed) add_routes(topology);
}

Network::Fabric::~Fabric() {
  for (const auto& place : places_) {
    try {
      delete_devices(place->socket);
    } catch (const Error&) {
      // Its devices went with their peers elsewhere. The rest, such as links between two hosts, goes with the
      // namespaces.
    }
  }
}

Network::Fabric::Place Network::Fabric::make_place() {
  NetworkNamespace place;
  NetlinkSocket socket = socket_in(place);
  return {std::move(place), std::move(socket)};
}

void Network::Fabric::add_switches(const Topology& topology) {
  const auto add_place = [this] {
    places_.push_back(std::make_unique<Place>(make_place()));
    return places_.back().get();
  };
  if (forwarding_ == Forwarding::bridged) add_place();
  for (const std::string& name : topology.switches) {
    if (forwarding_ == Forwarding::routed) {
      place_of_[name] = add_place();
      place_of_[name]->network_namespace.forward_packets();
      // The loopback address creates the kernel's table of local addresses; without it no gateway is
      // accepted.
      raise_device(place_of_[name]->socket, loopback_ifindex);
    } else {
      place_of_[name] = places_.front().get();
      bridges_[name] = next_ifindex_++;
      add_bridge(places_.front()->socket, name, bridges_[name]);
      raise_device(places_.front()->socket, bridges_[name]);
    }
  }
}

Network::Fabric::End Network::Fabric::make_end(const std::string& node, bool uncapped) {
  std::optional<unsigned> largest_packet_bytes;
  if (uncapped && forwarding_ == Forwarding::bridged) largest_packet_bytes = uncapped_packet_bytes;
  if (const auto found = place_of_.find(node); found != place_of_.end()) {
    const Place& place = *found->second;
    const int ifindex = next_ifindex_++;
    DeviceSettings settings{.largest_packet_bytes = largest_packet_bytes};
    if (forwarding_ == Forwarding::bridged) settings.bridge = bridges_.at(node);
    return {{place.network_namespace, fmt::format("{}.{}", node, ports_[node]++), ifindex,
             port_hardware_address(ifindex)},
            &place.socket,
            settings,
            {}};
  }
  const std::size_t index = host_index_.at(node);
  const NetworkNamespace& place = *hosts_[index].network_namespace;
  host_sockets_[index] = std::make_unique<NetlinkSocket>(socket_in(place));
  return {{place, "eth0", first_ifindex, host_hardware_address(index)},
          host_sockets_[index].get(),
          {.largest_segment_bytes = largest_segment_bytes_, .largest_packet_bytes = largest_packet_bytes},
          index};
}

void Network::Fabric::add_link(const Link& link) {
  const End a = make_end(link.a, is_uncapped(link));
  const End b = make_end(link.b, is_uncapped(link));
  add_veth(workshop_.socket, a.endpoint, b.endpoint);
  const std::size_t index = link_ends_.size();
  const auto port = [](const End& end, const End& peer) {
    return Port{.socket = end.socket,
                .ifindex = end.endpoint.ifindex,
                .of_switch = !end.host,
                .gateway = *peer.endpoint.hardware_address};
  };
  auto& [a_port, b_port] = link_ends_.emplace_back(port(a, b), port(b, a));
  const bool a_shaped = link.forward.rate_bit_per_s.has_value();
  const bool b_shaped = link.backward.rate_bit_per_s.has_value();
  if (a_shaped) {
    a_port.shaped = shape(link.a, link.b, a, shape_of(link.forward), impaired_.contains({index, true}));
  }
  if (b_shaped) {
    b_port.shaped = shape(link.b, link.a, b, shape_of(link.backward), impaired_.contains({index, false}));
  }
  finish(a, b, a_shaped);
  finish(b, a, b_shaped);
}

std::size_t Network::Fabric::shape(const std::string& from, const std::string& to, const End& sender,
                                   const Shape& asked, bool impaired) {
  const ShapedDevice device{direction_name(from, to), sender.endpoint.ifindex, impaired};
  Readings& readings = readings_[sender.socket];
  readings.devices.push_back(device);
  readings.order.push_back(shaping_.size());
  reading_of_.push_back({sender.socket, readings.devices.size() - 1});
  shaping_.push_back({device.name, asked, shape_device(*sender.socket, device, asked)});
  return shaping_.size() - 1;
}

const ShapedDirection& Network::Fabric::reshape(const Crossing& direction, const Shape& asked) {
  const auto& [a, b] = link_ends_.at(direction.link);
  const std::size_t place = (direction.forward ? a : b).shaped.value();
  const Reading& reading = reading_of_[place];
  ShapedDirection& shaped = shaping_[place];
  shaped.read_back =
      reshape_device(*reading.socket, readings_.at(reading.socket).devices[reading.index], asked);
  shaped.asked = asked;
  return shaped;
}

void Network::Fabric::set_link_up(std::size_t link, bool up) {
  const auto& [a, b] = link_ends_.at(link);
  // The switch's port goes down, so that the host keeps its routes and thus its connections.
  const Port& port = a.of_switch ? a : b;
  if (!port.of_switch) throw Error("take down a link between two hosts: neither end is a port of a switch");
  set_device_up(*port.socket, port.ifindex, up);
  if (up && forwarding_ == Forwarding::routed) {
    add_gateway(*port.socket, port.ifindex, port.gateway);
    add_routes(port);
  }
  for (const Port* const end : {&a, &b}) {
    if (end->shaped) shaping_[*end->shaped].up = up;
  }
}

void Network::Fabric::finish(const End& end, const End& peer, bool shaped) {
  raise_device(*end.socket, end.endpoint.ifindex, end.settings);
  if (forwarding_ == Forwarding::routed) {
    add_gateway(*end.socket, end.endpoint.ifindex, *peer.endpoint.hardware_address);
  }
  if (!end.host) return;
  raise_device(*end.socket, loopback_ifindex);
  add_address_and_route(*end.socket, end.endpoint.ifindex, *end.host, forwarding_);
  if (forwarding_ == Forwarding::bridged) neighbours_.add(*end.socket, *end.host);
  if (const auto& routes = large_packet_routes_[*end.host]) routes->add(*end.socket);
  if (!shaped) host_sockets_[*end.host].reset();
}

void Network::Fabric::prepare_large_packet_routes(const Topology& topology) {
  for (const std::vector<std::string>& group : uncapped_groups(topology)) {
    if (group.size() == 1) continue;
    std::vector<std::size_t> members;
    for (const std::string& host : group) members.push_back(host_index_.at(host));
    const auto routes = std::make_shared<LargePacketRoutes>(first_ifindex, members);
    for (const std::size_t member : members) large_packet_routes_[member] = routes;
  }
}

void Network::Fabric::add_routes(const Topology& topology) {
  const Routes routes(topology);
  for (const std::string& name : topology.switches) {
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      const Crossing next = routes.next(name, host);
      auto& [a, b] = link_ends_[next.link];
      (next.forward ? a : b).routed.push_back(host);
    }
  }
  for (const auto& [a, b] : link_ends_) {
    add_routes(a);
    add_routes(b);
  }
}

void Network::Fabric::add_routes(const Port& port) const {
  for (const std::size_t host : port.routed) add_host_route(*port.socket, port.ifindex, host);
}

std::vector<LinkCounters> Network::Fabric::counters() const {
  std::vector<LinkCounters> out(shaping_.size());
  for (const auto& [socket, readings] : readings_) {
    std::vector<LinkCounters> read = read_counters(*socket, readings.devices);
    for (std::size_t i = 0; i < read.size(); ++i) out[readings.order[i]] = std::move(read[i]);
  }
  return out;
}

std::uint64_t Network::Fabric::frames_lost() const {
  std::uint64_t lost = 0;
  for (const auto& place : places_) lost += netem::frames_lost(place->socket);
  for (const Host& host : hosts_) lost += netem::frames_lost(socket_in(*host.network_namespace));
  return lost;
}

}  // namespace thinpipe::netem
