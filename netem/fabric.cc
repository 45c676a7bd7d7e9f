#include "netem/fabric.hh"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "netem/route.hh"

namespace thinpipe::netem {
namespace {

constexpr unsigned kernels_largest_segment = 65536;

NetlinkSocket socket_in(const NetworkNamespace& place) {
  std::optional<NetlinkSocket> socket;
  place.run([&] { socket.emplace(); });
  return std::move(*socket);
}

// One for all hosts: what a host sends may reach any of the shapers.
unsigned largest_segment_of(const Topology& topology) {
  unsigned smallest = kernels_largest_segment;
  for (const Link& link : topology.links) {
    if (link.rate_bit_per_s) smallest = std::min(smallest, largest_segment_bytes(shape_of(link).burst_bytes));
  }
  return smallest;
}

}  // namespace

Network::Fabric::Fabric(const Topology& topology, const std::vector<Host>& hosts)
    : socket_(socket_in(namespace_)) {
  std::map<std::string, std::size_t> host_index;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    host_index[hosts[i].name] = i;
    host_sockets_.push_back(socket_in(*hosts[i].network_namespace));
  }
  add_switches(topology);
  const unsigned largest_segment = largest_segment_of(topology);
  for (const Link& link : topology.links) add_link(link, host_index, hosts, largest_segment);
  for (std::size_t i = 0; i < hosts.size(); ++i) set_up_host(i, hosts.size());
}

Network::Fabric::~Fabric() {
  try {
    delete_devices(socket_);
  } catch (const Error&) {
    // The namespaces' own end deletes what is left, such as links between two hosts.
  }
}

void Network::Fabric::add_switches(const Topology& topology) {
  for (const std::string& name : topology.switches) {
    bridges_[name] = next_ifindex_++;
    add_bridge(socket_, name, bridges_[name]);
    raise_device(socket_, bridges_[name]);
  }
}

Network::Fabric::End Network::Fabric::make_end(const std::string& node,
                                               const std::map<std::string, std::size_t>& host_index,
                                               const std::vector<Host>& hosts, unsigned largest_segment) {
  if (const auto bridge = bridges_.find(node); bridge != bridges_.end()) {
    const std::string device = fmt::format("{}.{}", node, ports_[node]++);
    return {{namespace_, device, next_ifindex_++}, &socket_, {.bridge = bridge->second}};
  }
  const std::size_t index = host_index.at(node);
  return {{*hosts[index].network_namespace, "eth0", first_ifindex, host_hardware_address(index)},
          &host_sockets_[index],
          {.largest_segment_bytes = largest_segment}};
}

void Network::Fabric::add_link(const Link& link, const std::map<std::string, std::size_t>& host_index,
                               const std::vector<Host>& hosts, unsigned largest_segment) {
  const End a = make_end(link.a, host_index, hosts, largest_segment);
  const End b = make_end(link.b, host_index, hosts, largest_segment);
  add_veth(socket_, a.endpoint, b.endpoint);
  if (link.rate_bit_per_s) {
    shape(link.a, link.b, a, shape_of(link));
    shape(link.b, link.a, b, shape_of(link));
  }
  raise_device(*a.socket, a.endpoint.ifindex, a.settings);
  raise_device(*b.socket, b.endpoint.ifindex, b.settings);
}

void Network::Fabric::shape(const std::string& from, const std::string& to, const End& sender,
                            const Shape& asked) {
  const ShapedDevice device{fmt::format("{}->{}", from, to), sender.endpoint.ifindex};
  Readings& readings = readings_[sender.socket];
  readings.devices.push_back(device);
  readings.order.push_back(shaping_.size());
  shaping_.push_back({device.name, asked, shape_device(*sender.socket, device, asked)});
}

void Network::Fabric::set_up_host(std::size_t index, std::size_t hosts) const {
  const NetlinkSocket& socket = host_sockets_[index];
  raise_device(socket, loopback_ifindex);
  add_address_and_route(socket, first_ifindex, index);
  for (std::size_t other = 0; other < hosts; ++other) {
    if (other != index) add_neighbour(socket, first_ifindex, other);
  }
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
  std::uint64_t lost = netem::frames_lost(socket_);
  for (const NetlinkSocket& socket : host_sockets_) lost += netem::frames_lost(socket);
  return lost;
}

}  // namespace thinpipe::netem
