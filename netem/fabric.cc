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
    : hosts_(hosts),
      largest_segment_bytes_(largest_segment_of(topology)),
      socket_(socket_in(namespace_)),
      host_sockets_(hosts.size()) {
  for (std::size_t i = 0; i < hosts.size(); ++i) host_index_[hosts[i].name] = i;
  add_switches(topology);
  for (const Link& link : topology.links) add_link(link);
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

Network::Fabric::End Network::Fabric::make_end(const std::string& node) {
  if (const auto bridge = bridges_.find(node); bridge != bridges_.end()) {
    const std::string device = fmt::format("{}.{}", node, ports_[node]++);
    return {{namespace_, device, next_ifindex_++}, &socket_, {.bridge = bridge->second}, {}};
  }
  const std::size_t index = host_index_.at(node);
  const NetworkNamespace& place = *hosts_[index].network_namespace;
  host_sockets_[index] = std::make_unique<NetlinkSocket>(socket_in(place));
  return {{place, "eth0", first_ifindex, host_hardware_address(index)},
          host_sockets_[index].get(),
          {.largest_segment_bytes = largest_segment_bytes_},
          index};
}

void Network::Fabric::add_link(const Link& link) {
  const End a = make_end(link.a);
  const End b = make_end(link.b);
  add_veth(socket_, a.endpoint, b.endpoint);
  const bool shaped = link.rate_bit_per_s.has_value();
  if (shaped) {
    shape(link.a, link.b, a, shape_of(link));
    shape(link.b, link.a, b, shape_of(link));
  }
  finish(a, shaped);
  finish(b, shaped);
}

void Network::Fabric::shape(const std::string& from, const std::string& to, const End& sender,
                            const Shape& asked) {
  const ShapedDevice device{fmt::format("{}->{}", from, to), sender.endpoint.ifindex};
  Readings& readings = readings_[sender.socket];
  readings.devices.push_back(device);
  readings.order.push_back(shaping_.size());
  shaping_.push_back({device.name, asked, shape_device(*sender.socket, device, asked)});
}

void Network::Fabric::finish(const End& end, bool shaped) {
  raise_device(*end.socket, end.endpoint.ifindex, end.settings);
  if (!end.host) return;
  raise_device(*end.socket, loopback_ifindex);
  add_address_and_route(*end.socket, end.endpoint.ifindex, *end.host);
  for (std::size_t other = 0; other < hosts_.size(); ++other) {
    if (other != *end.host) add_neighbour(*end.socket, end.endpoint.ifindex, other);
  }
  if (!shaped) host_sockets_[*end.host].reset();
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
  for (const Host& host : hosts_) lost += netem::frames_lost(socket_in(*host.network_namespace));
  return lost;
}

}  // namespace thinpipe::netem
