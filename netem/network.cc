// SPDX-License-Identifier: Apache-2.0
#include "netem/network.hh"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "netem/kernel/ip_routes.hh"
#include "netem/kernel/kernel_features.hh"
#include "netem/kernel/probe.hh"
#include "netem/kernel/qdisc_stack.hh"
#include "netem/kernel/sandbox.hh"
#include "netem/network_devices.hh"
#include "netem/topology/hops.hh"

namespace thinpipe::netem {
namespace {

std::vector<Host> make_hosts(const Topology& topology) {
  const double timeout_s = connect_limit_s(topology);
  std::vector<Host> hosts;
  for (std::size_t i = 0; i < topology.hosts.size(); ++i) {
    if (topology.kind == TopologyKind::loopback) {
      hosts.push_back({.name = topology.hosts[i], .address = "127.0.0.1"});
    } else {
      hosts.push_back({topology.hosts[i], host_address(i), NetworkNamespace(), timeout_s});
      if (has_ecn(topology)) hosts.back().network_namespace->negotiate_ecn();
    }
  }
  return hosts;
}

// Throws Error unless the socket sends packets of this size.
void check_packet_bytes(const FileDescriptor& socket, unsigned asked, const std::string& from,
                        const std::string& to) {
  const unsigned held = largest_packet_bytes(socket);
  if (held == asked) return;
  throw Error(fmt::format("send packets of {} bytes from {} to {}: the kernel sends {} bytes at most", asked,
                          from, to, held));
}

// Connects each host to the next and reads the algorithm of both sockets: the algorithm in use counts, not
// the one in the routes. Returns each host's algorithm, several joined by "/" if its sockets differ. Throws Error if
// packets have another size than the topology's.
std::vector<std::string> examine_live_sockets(const Topology& topology, const std::vector<Host>& hosts) {
  if (hosts.size() < 2) return {};
  const bool has_large_packets = topology.forwarding == Forwarding::bridged;
  std::map<std::string, std::size_t> group_of;
  const auto groups = uncapped_groups(topology);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const std::string& host : groups[group]) group_of[host] = group;
  }
  std::vector<std::set<std::string>> names(hosts.size());
  for (std::size_t i = 0; i + 1 < hosts.size(); ++i) {
    const Host& from = hosts[i];
    const Host& to = hosts[i + 1];
    const Connection connection = connect_hosts(from, to);
    names[i].insert(congestion_control(connection.client));
    names[i + 1].insert(congestion_control(connection.server));
    const bool is_large = has_large_packets && group_of.at(from.name) == group_of.at(to.name);
    const unsigned asked = is_large ? uncapped_packet_bytes : topology.frame.packet_bytes;
    check_packet_bytes(connection.client, asked, from.name, to.name);
    check_packet_bytes(connection.server, asked, to.name, from.name);
  }
  std::vector<std::string> out;
  for (const std::set<std::string>& of_host : names)
    out.push_back(fmt::format("{}", fmt::join(of_host, "/")));
  return out;
}

// A switch sends a frame for an unknown host to all its ports at once, and the kernel queues the copies for
// one CPU. Copies beyond net.core.netdev_max_backlog plus one are lost.
void check_backlog(const Topology& topology) {
  if (topology.forwarding != Forwarding::bridged) return;
  std::map<std::string, std::size_t> ports;
  for (const Link& link : topology.links) {
    ++ports[link.a];
    ++ports[link.b];
  }
  const std::optional<std::size_t> backlog = machines_backlog();
  if (!backlog) return;
  for (const std::string& name : topology.switches) {
    if (ports[name] <= *backlog + 2) continue;
    throw InputError(
        {fmt::format("the topology {}", topology.name), ""},
        fmt::format("the switch {} has {} links, but this kernel queues at most {} frames at once: run "
                    "sysctl net.core.netdev_max_backlog={} as root, or move hosts to another switch",
                    name, ports[name], *backlog, 2 * ports[name]));
  }
}

// The default is known to exist: nothing works without it, and `thinpipe doctor` looks for it.
void check_congestion_control(const Topology& topology) {
  const std::vector<std::string> asked = congestion_controls(topology);
  std::set<std::string> names(asked.begin(), asked.end());
  names.erase(default_congestion_control);
  if (names.empty()) return;
  const std::vector<std::string> usable = usable_congestion_controls();
  for (const std::string& name : names) {
    if (std::ranges::find(usable, name) != usable.end()) continue;
    throw Error(fmt::format(
        "use the congestion control {}: this kernel has only {}; load the module tcp_{} as root, or "
        "choose one of these",
        name, fmt::join(usable, ", "), name));
  }
}

}  // namespace

void check_kernel(const Topology& topology, const Schedule& schedule) {
  check_backlog(topology);
  check_congestion_control(topology);
  // Shapes that together use everything that a kernel may lack.
  std::optional<Direction> impaired;
  std::map<Queueing, Direction> active;
  const auto consider = [&](const Direction& direction) {
    if (direction.impairments.any()) impaired = direction;
    if (direction.rate_bit_per_s && is_active(direction.queueing)) active[direction.queueing] = direction;
  };
  for (const Link& link : topology.links) {
    consider(link.forward);
    consider(link.backward);
  }
  visit_states(topology, schedule,
               [&](const DirectedLink&, const Direction& direction, const Place&) { consider(direction); });
  if (!impaired && active.empty()) return;
  const NetworkNamespace trial;
  trial.run([&] {
    const NetlinkSocket socket;
    if (impaired) check_kernel_shapes(socket, link_shape_of(*impaired));
    for (const auto& [queueing, direction] : active) check_kernel_shapes(socket, link_shape_of(direction));
  });
}

Network::Network(const Topology& topology, const Schedule& schedule, IdleCores idle_cores)
    : topology_(topology) {
  check_kernel(topology_, schedule);
  hosts_ = make_hosts(topology_);
  if (topology.kind == TopologyKind::loopback) return;
  devices_ = std::make_unique<Devices>(topology_, schedule, hosts_);
  congestion_control_ = describe_congestion_controls(topology_, examine_live_sockets(topology_, hosts_));
  frames_lost_in_construction_ = devices_->frames_lost();
  const auto needs_awake_cores = [] { return !obstacle_to_awake_cores() && wakes_up_late(); };
  const bool keep_awake =
      idle_cores == IdleCores::kept_awake || (idle_cores == IdleCores::as_needed && needs_awake_cores());
  if (keep_awake) awake_cores_.emplace();
}

Network::~Network() = default;

const Host& Network::host(std::string_view name) const {
  return host_list().find(name);
}

std::vector<LinkCounters> Network::counters() const {
  return devices_ ? devices_->counters() : std::vector<LinkCounters>{};
}

std::vector<ShapedDirection> Network::shaping() const {
  return devices_ ? devices_->shaping() : std::vector<ShapedDirection>{};
}

const ShapedDirection& Network::reshape(const DirectedLink& direction, const LinkShape& asked) {
  return devices_->reshape(direction, asked);
}

void Network::set_link_up(std::size_t link, bool up) {
  devices_->set_link_up(link, up);
  links_went_down_ = links_went_down_ || !up;
}

LinkEnd Network::link_end(std::size_t link) const {
  return devices_->link_end(link);
}

std::uint64_t Network::frames_lost_outside_queues() const {
  return devices_ ? devices_->frames_lost() - frames_lost_in_construction_ : 0;
}

}  // namespace thinpipe::netem
