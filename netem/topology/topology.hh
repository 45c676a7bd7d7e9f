// SPDX-License-Identifier: Apache-2.0
// A virtual network as the user describes it: switches, hosts, and links with their caps.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netem/topology/frame.hh"

namespace thinpipe::netem {

enum class TopologyKind {
  network,   // namespaces, bridges and links
  loopback,  // every host is 127.0.0.1: no namespaces, no links, no caps
  cluster,   // every host is a machine of its own, and the network between them is real
};
const char* name_of(TopologyKind kind);

enum class Forwarding {
  bridged,  // switches are Ethernet bridges; the network must be a tree
  routed,   // switches are routers with static shortest routes; links may form loops
};

// The order in which frames that wait for a link are sent, and when they drop.
enum class Queueing {
  fifo,      // first come, first served, as in a plain switch; drops when full
  fair,      // flows in turn, each with its own queue; drops when full
  codel,     // as fifo, but drops or marks frames once they have waited too long for a while
  fq_codel,  // flows in turn, each with its own codel
  red,       // as fifo, but drops or marks more frames the longer the queue is on average
};
inline constexpr std::array queueings = {Queueing::fifo, Queueing::fair, Queueing::codel, Queueing::fq_codel,
                                         Queueing::red};
// Names of topology files; those of codel, fq_codel and red are the kernel's too.
const char* name_of(Queueing queueing);
std::vector<std::string> queueing_names();
// Returns the discipline of this name, one of queueing_names().
Queueing queueing_of(std::string_view name);

// Returns true if the discipline drops or marks frames before the queue is full. These need a kernel that has
// them.
inline bool is_active(Queueing queueing) {
  return queueing != Queueing::fifo && queueing != Queueing::fair;
}

// Returns true if each flow has a queue of its own. In others, acknowledgements wait behind data of the other direction, and
// flows share the link by chance.
inline bool is_by_flow(Queueing queueing) {
  return queueing == Queueing::fair || queueing == Queueing::fq_codel;
}

// What a direction of a link does to frames, apart from capping their rate.
struct Impairments {
  double delay_s = 0;      // one way, in addition to the time at the cap and in the queue
  double jitter_s = 0;     // each frame's delay is drawn uniformly from delay - jitter to delay + jitter
  double loss = 0;         // the share of frames that are lost
  double duplication = 0;  // the share that arrive twice
  double reordering = 0;   // the share that skip the delay, and so overtake others

  bool any() const { return *this != Impairments{}; }
  bool operator==(const Impairments&) const = default;
};

// One direction of a link.
struct Direction {
  std::optional<double> rate_bit_per_s = {};  // the cap, Ethernet headers included; nullopt: not shaped
  std::optional<double> burst_bytes = {};     // may pass at once after idling; nullopt: follows from the rate
  std::optional<double> queue_bytes = {};     // may wait before frames drop; nullopt: follows from the rate
  Queueing queueing = Queueing::fifo;         // if fair, queue_bytes is per flow; needs a rate
  bool ecn = false;              // an active queue marks frames, if it can, instead of dropping them
  Impairments impairments = {};  // need a rate
  Frame frame = {};              // the topology's

  bool operator==(const Direction&) const = default;
};

// A full-duplex link.
struct Link {
  std::string a;  // a node's name; `a` comes first in names like "left->middle"
  std::string b;
  Direction forward = {};   // from a to b
  Direction backward = {};  // from b to a
  bool bottleneck = false;  // an experiment's "bottleneck.rate" overrides this link's caps
};

// Returns the name of a direction from one node to another, "left->middle".
inline std::string direction_name(const std::string& from, const std::string& to) {
  return from + "->" + to;
}

// Returns true if neither direction has a cap.
inline bool is_uncapped(const Link& link) {
  return !link.forward.rate_bit_per_s && !link.backward.rate_bit_per_s;
}

// What hosts use unless the topology says otherwise, whatever the machine's default is.
inline constexpr const char* default_congestion_control = "cubic";

struct Topology {
  std::string name;
  std::string description = {};
  TopologyKind kind = TopologyKind::network;
  Forwarding forwarding = Forwarding::bridged;
  std::vector<std::string> switches = {};
  std::vector<std::string> hosts = {};  // in the order of ranks
  std::vector<Link> links = {};         // one per pair of nodes: groups and lists are expanded
  // Of a cluster: the machines' network interface, by name or by its IPv4 subnet; empty: the only one.
  std::string network_interface = {};
  // Of a cluster: the workers meet in the run's folder, instead of at the first one's address.
  bool meets_in_folder = false;
  std::string congestion_control = default_congestion_control;        // of TCP, on every host but these
  std::map<std::string, std::string> other_congestion_controls = {};  // by host
  Frame frame = {};                                                   // full ones on paths that cross a cap

  bool is_emulated() const { return kind == TopologyKind::network; }
};

// Returns true if the queue of any direction marks frames.
bool has_ecn(const Topology& topology);

// A node's name becomes part of a device's name ("left.12"), which the kernel limits to 15 characters.
inline constexpr std::size_t max_node_name_bytes = 10;
// Ports of one Linux bridge.
inline constexpr std::size_t max_links_of_a_switch = 1023;
// Host addresses in 10.77.0.0/16.
inline constexpr std::size_t max_hosts = 65534;
inline constexpr double min_rate_bit_per_s = 100e3;  // a full frame takes 120 ms
inline constexpr double max_rate_bit_per_s = 16e9;   // libnl holds bytes per second in an int

inline constexpr double max_delay_s = 10;

// Returns the congestion control of each host, in the order of ranks.
std::vector<std::string> congestion_controls(const Topology& topology);

// Returns a description of the congestion controls `held` by the hosts: one name if all are the same, otherwise
// "cubic, w3: bbr" with those that differ from the topology's default.
std::string describe_congestion_controls(const Topology& topology, const std::vector<std::string>& held);

}  // namespace thinpipe::netem
