// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/topology_checks.hh"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "common/support/nearest.hh"
#include "common/support/units.hh"
#include "netem/topology/link_shape.hh"

namespace thinpipe::netem {
namespace {

// The loopback device, the devices that the kernel's tunnel modules put into every namespace, and the two
// names under which the kernel keeps settings for all devices.
constexpr std::array<std::string_view, 13> devices_of_the_kernel = {
    "lo",      "all",     "default",  "tunl0",   "sit0",    "gre0", "gretap0",
    "erspan0", "ip_vti0", "ip6_vti0", "ip6tnl0", "ip6gre0", "teql0"};

// The sets of nodes that are connected so far.
class Components {
 public:
  explicit Components(std::size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), 0); }

  std::size_t of(std::size_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }

  // Returns false if they were already connected.
  bool join(std::size_t a, std::size_t b) {
    if (of(a) == of(b)) return false;
    parent_[of(a)] = of(b);
    return true;
  }

 private:
  std::vector<std::size_t> parent_;
};

// Returns the loop that `last` closes: "a - b - c - a". Uses only the links before it, which form no loop.
std::string loop(const std::vector<PlacedLink>& links, const PlacedLink& last) {
  std::map<std::string, std::string> previous = {{last.link.b, last.link.b}};
  std::vector<std::string> reached = {last.link.b};
  for (std::size_t done = 0; done < reached.size() && !previous.contains(last.link.a); ++done) {
    const std::string at = reached[done];
    for (const PlacedLink& placed : links) {
      if (&placed == &last) break;
      if (placed.link.a != at && placed.link.b != at) continue;
      const std::string& next = placed.link.a == at ? placed.link.b : placed.link.a;
      if (previous.emplace(next, at).second) reached.push_back(next);
    }
  }
  std::string out = last.link.a;
  for (std::string at = last.link.a; at != last.link.b;) {
    at = previous.at(at);
    out += " - " + at;
  }
  return out + " - " + last.link.a;
}

std::string to_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Programs look hosts up without regard to case, and expect localhost to be the host itself.
void check_host_names(const NodeNames& hosts) {
  std::map<std::string, std::string> seen;  // by lower-case name
  for (const PlacedName& host : hosts.nodes()) {
    if (to_lower_case(host.name) == "localhost") {
      throw InputError(host.place,
                       fmt::format("\"{}\" is every host's name for itself; choose another name", host.name));
    }
    const auto [before, is_new] = seen.emplace(to_lower_case(host.name), host.name);
    if (!is_new) {
      throw InputError(
          host.place,
          fmt::format("\"{}\" and \"{}\" differ only in case, which does not count when programs look a "
                      "host up; choose another name",
                      before->second, host.name));
    }
  }
}

// A switch becomes a device of this name, next to those that every network has.
void check_switch_names(const NodeNames& switches) {
  for (const PlacedName& node : switches.nodes()) {
    for (const std::string_view taken : devices_of_the_kernel) {
      if (node.name != taken) continue;
      throw InputError(node.place,
                       fmt::format("\"{}\" is a name that the kernel uses for its own devices or settings; "
                                   "choose another name",
                                   node.name));
    }
  }
}

}  // namespace

void check_nodes(const NodeNames& switches, const NodeNames& hosts, const Place& place) {
  if (hosts.nodes().empty())
    throw InputError(place / "hosts", "names no host; a topology needs at least one");
  if (hosts.nodes().size() > max_hosts) {
    throw InputError(place / "hosts", fmt::format("names {} hosts, but the subnet 10.77.0.0/16 holds {}",
                                                  hosts.nodes().size(), max_hosts));
  }
  std::set<std::string> seen;
  for (const NodeNames* const names : {&switches, &hosts}) {
    for (const PlacedName& node : names->nodes()) {
      if (!seen.insert(node.name).second) {
        throw InputError(
            node.place,
            fmt::format("\"{}\" is named twice; every switch and host needs a name of its own", node.name));
      }
    }
  }
  check_host_names(hosts);
  check_switch_names(switches);
  for (const NodeNames* const names : {&switches, &hosts}) {
    for (const auto& [group, members] : names->groups()) {
      // An end of a link could mean either of the two.
      if (seen.insert(group).second) continue;
      throw InputError(place,
                       fmt::format("the group \"{}\" has the name of a switch, a host or another group; "
                                   "give it a name of its own",
                                   group));
    }
  }
}

void check_direction(const Direction& direction, const Place& place) {
  const Impairments& asked = direction.impairments;
  if (!direction.rate_bit_per_s) {
    for (const auto& [key, given] : {std::pair{"burst", direction.burst_bytes.has_value()},
                                     {"queue", direction.queue_bytes.has_value()},
                                     {"queueing", direction.queueing != Queueing::fifo},
                                     {"ecn", direction.ecn},
                                     {"delay", asked.delay_s > 0},
                                     {"jitter", asked.jitter_s > 0},
                                     {"loss", asked.loss > 0},
                                     {"duplication", asked.duplication > 0},
                                     {"reordering", asked.reordering > 0}}) {
      if (given) {
        throw InputError(place / key, "needs a \"rate\" beside it: a link without a rate is not shaped");
      }
    }
    return;
  }
  check_shape(link_shape_of(direction), place);
  if (direction.ecn && !is_active(direction.queueing)) {
    throw InputError(
        place / "ecn",
        fmt::format("needs a queue that marks frames, but \"{}\" drops them when it is full; set "
                    "\"queueing\" to \"codel\", \"fq_codel\" or \"red\", or remove it",
                    name_of(direction.queueing)));
  }
  if (asked.jitter_s > asked.delay_s) {
    throw InputError(place / "jitter", fmt::format("must be at most the delay of {}, but is {}",
                                                   format_quantity(Quantity::duration, asked.delay_s),
                                                   format_quantity(Quantity::duration, asked.jitter_s)));
  }
  if (asked.reordering > 0 && asked.delay_s == 0) {
    throw InputError(place / "reordering",
                     "needs a \"delay\" beside it: frames overtake others by skipping the delay");
  }
}

void check_bottleneck(const Link& link, const Place& place) {
  if (link.bottleneck && !link.forward.rate_bit_per_s && !link.backward.rate_bit_per_s) {
    throw InputError(place / "bottleneck", "needs a \"rate\" beside it: the cap if an experiment sets none");
  }
}

void check_links(const Topology& topology, const std::vector<PlacedName>& nodes,
                 const std::vector<PlacedLink>& links, const Place& place) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const PlacedName& node : nodes) names.push_back(node.name);
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < names.size(); ++i) index[names[i]] = i;
  const auto is_host = [&](std::size_t node) { return node >= topology.switches.size(); };

  Components components(names.size());
  std::vector<std::size_t> degree(names.size(), 0);
  const auto attach = [&](const std::string& name, const Place& end) {
    const auto found = index.find(name);
    if (found == index.end()) {
      throw InputError(end,
                       fmt::format("no switch or host is named \"{}\"{}", name, suggestion(name, names)));
    }
    const std::size_t node = found->second;
    ++degree[node];
    if (is_host(node) && degree[node] > 1) {
      throw InputError(end, fmt::format("the host {} already has a link; a host has exactly one", name));
    }
    if (degree[node] > max_links_of_a_switch) {
      throw InputError(end, fmt::format("the switch {} already has {} links, as many as a bridge can have",
                                        name, max_links_of_a_switch));
    }
    return node;
  };
  std::set<std::pair<std::size_t, std::size_t>> neighbours;
  for (const PlacedLink& placed : links) {
    const std::size_t a = attach(placed.link.a, placed.a_place);
    const std::size_t b = attach(placed.link.b, placed.b_place);
    if (a == b) {
      throw InputError(
          placed.b_place,
          fmt::format("this link closes a loop: it leads from {} to itself; leave it out", placed.link.a));
    }
    const bool connected = !components.join(a, b);
    if (connected && topology.forwarding == Forwarding::bridged) {
      throw InputError(placed.b_place,
                       fmt::format("this link closes the loop {}; bridged frames would circle for ever, so "
                                   "leave one link out, or set \"forwarding\": \"routed\"",
                                   loop(links, placed)));
    }
    if (!neighbours.insert(std::minmax(a, b)).second) {
      throw InputError(
          placed.b_place,
          fmt::format("there is already a link between {} and {}, and links are named by their ends; put a "
                      "switch into one of them, or raise the rate of one",
                      placed.link.a, placed.link.b));
    }
  }
  for (std::size_t node = 0; node < names.size(); ++node) {
    const Place& where = nodes[node].place;
    if (degree[node] == 0 && names.size() > 1) {
      throw InputError(where, fmt::format("{} has no link; add one under \"links\"", names[node]));
    }
    if (components.of(node) != components.of(0)) {
      throw InputError(where, fmt::format("{} cannot reach {}; add a link between their parts of the network",
                                          names[node], names[0]));
    }
  }
  if (names.size() == 1)
    throw InputError(place / "links", "a network needs a link; without links, use kind \"loopback\"");
}

}  // namespace thinpipe::netem
