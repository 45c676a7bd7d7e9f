#include "netem/topology_checks.hh"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "harness/support/nearest.hh"
#include "netem/shape.hh"

namespace thinpipe::netem {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void check_name(const std::string& name, const Place& place) {
  const auto fits = [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  if (name.empty() || name.size() > longest_node_name || !is_letter(name[0]) ||
      !std::ranges::all_of(name, fits)) {
    throw InputError(
        place, fmt::format("\"{}\" is unfit as a device's name: 1 to {} letters, digits, \"-\" or \"_\", "
                           "beginning with a letter",
                           name, longest_node_name));
  }
}

// Which nodes are connected so far.
class Components {
 public:
  explicit Components(std::size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), 0); }

  std::size_t of(std::size_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }

  // False when they were connected already.
  bool join(std::size_t a, std::size_t b) {
    if (of(a) == of(b)) return false;
    parent_[of(a)] = of(b);
    return true;
  }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

void check_nodes(const Topology& topology, const Place& place) {
  if (topology.hosts.empty())
    throw InputError(place / "hosts", "names no host; a topology needs at least one");
  if (topology.hosts.size() > most_hosts) {
    throw InputError(place / "hosts", fmt::format("names {} hosts, but the subnet 10.77.0.0/16 holds {}",
                                                  topology.hosts.size(), most_hosts));
  }
  std::set<std::string> seen;
  const auto check = [&](const std::vector<std::string>& names, const Place& list) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      check_name(names[i], list / i);
      if (!seen.insert(names[i]).second) {
        throw InputError(
            list / i,
            fmt::format("\"{}\" is named twice; every switch and host needs a name of its own", names[i]));
      }
    }
  };
  check(topology.switches, place / "switches");
  check(topology.hosts, place / "hosts");
}

void check_caps(const Link& link, const Place& place) {
  if (link.rate_bit_per_s) {
    check_shape(shape_of(link), place);
  } else if (link.burst_bytes) {
    throw InputError(place / "burst", "needs a \"rate\" beside it: a link without a rate is not shaped");
  } else if (link.queue_bytes) {
    throw InputError(place / "queue", "needs a \"rate\" beside it: a link without a rate is not shaped");
  } else if (link.bottleneck) {
    throw InputError(place / "bottleneck",
                     "needs a \"rate\" beside it: the cap where an experiment sets none");
  }
}

void check_links(const Topology& topology, const std::vector<PlacedLink>& links, const Place& place) {
  std::vector<std::string> names = topology.switches;
  names.insert(names.end(), topology.hosts.begin(), topology.hosts.end());
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
      throw InputError(end, fmt::format("the host {} has a link already; a host has exactly one", name));
    }
    if (degree[node] > most_links_of_a_switch) {
      throw InputError(end, fmt::format("the switch {} has {} links already; more do not fit a bridge", name,
                                        most_links_of_a_switch));
    }
    return node;
  };
  for (const PlacedLink& placed : links) {
    const std::size_t a = attach(placed.link.a, placed.a_place);
    const std::size_t b = attach(placed.link.b, placed.b_place);
    if (!components.join(a, b)) {
      throw InputError(placed.b_place,
                       fmt::format("this link closes a loop: {} and {} are connected already; frames "
                                   "would circle for ever, so leave one link out",
                                   placed.link.a, placed.link.b));
    }
  }
  for (std::size_t node = 0; node < names.size(); ++node) {
    const Place where =
        is_host(node) ? place / "hosts" / (node - topology.switches.size()) : place / "switches" / node;
    if (degree[node] == 0 && names.size() > 1) {
      throw InputError(where, fmt::format("{} has no link; add one under \"links\"", names[node]));
    }
    if (components.of(node) != components.of(0)) {
      throw InputError(where, fmt::format("{} cannot reach {}; add a link between their parts of the network",
                                          names[node], names[0]));
    }
  }
  if (names.size() == 1)
    throw InputError(place / "links", "a network needs a link; for none use kind \"loopback\"");
}

}  // namespace thinpipe::netem
