// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/link_names.hh"

#include <fmt/format.h>

#include "common/support/nearest.hh"

namespace thinpipe::netem {
namespace {

constexpr const char* all_bottlenecks = "bottlenecks";
constexpr const char* ways = "\"a-b\" for both directions, \"a->b\" for one";

}  // namespace

bool is_shaped(const Topology& topology, const DirectedLink& directed_link) {
  const Link& link = topology.links[directed_link.link];
  return (directed_link.forward ? link.forward : link.backward).rate_bit_per_s.has_value();
}

std::string name_of(const Topology& topology, const DirectedLink& directed_link) {
  const Link& link = topology.links[directed_link.link];
  return directed_link.forward ? direction_name(link.a, link.b) : direction_name(link.b, link.a);
}

LinkNames::LinkNames(const Topology& topology) : topology_(topology) {
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    const Link& link = topology.links[i];
    for (const bool forward : {true, false}) {
      const DirectedLink directed_link{i, forward};
      add(name_of(topology, directed_link), {directed_link});
      add(forward ? fmt::format("{}-{}", link.a, link.b) : fmt::format("{}-{}", link.b, link.a),
          {{i, true}, {i, false}});
      if (link.bottleneck) meant_[all_bottlenecks].push_back(directed_link);
    }
  }
  if (meant_.contains(all_bottlenecks)) known_.insert(known_.begin(), all_bottlenecks);
}

const std::vector<DirectedLink>& LinkNames::find(const std::string& name, const Place& place) const {
  if (topology_.links.empty()) {
    throw InputError(place, fmt::format("the topology {} has no links", topology_.name));
  }
  const auto found = meant_.find(name);
  if (found == meant_.end()) {
    throw InputError(place,
                     fmt::format("unknown link \"{}\"; write {}{}", name, ways, suggestion(name, known_)));
  }
  if (found->second.empty()) {
    throw InputError(place,
                     fmt::format("\"{}\" names more than one link; write \"->\" instead of \"-\"", name));
  }
  return found->second;
}

// Names of nodes may contain a "-", so two links may have the same name; it then means neither.
void LinkNames::add(const std::string& name, const std::vector<DirectedLink>& crossings) {
  const auto [entry, is_new] = meant_.emplace(name, crossings);
  if (!is_new) entry->second.clear();
  if (is_new && is_shaped(topology_, crossings.front())) known_.push_back(name);
}

}  // namespace thinpipe::netem
