// SPDX-License-Identifier: Apache-2.0
#include "netem/link_captures.hh"

#include <set>

#include "netem/topology/link_names.hh"

namespace thinpipe::netem {
namespace {

// A link is captured once, whichever of its directions are named.
std::set<std::size_t> links_of(const CaptureOptions& options, const Topology& topology, const Place& place) {
  const LinkNames names(topology);
  std::set<std::size_t> out;
  for (const std::string& name : options.links) {
    for (const DirectedLink& direction : names.find(name, place)) out.insert(direction.link);
  }
  return out;
}

}  // namespace

void check_links(const CaptureOptions& options, const Topology& topology, const Place& place) {
  links_of(options, topology, place);
}

LinkCaptures::LinkCaptures(const Network& network, const CaptureOptions& options,
                           const std::filesystem::path& folder) {
  const Topology& topology = network.topology();
  for (const std::size_t i : links_of(options, topology, {"--capture", ""})) {
    const LinkEnd end = network.link_end(i);
    const std::string name = topology.links[i].a + "-" + topology.links[i].b;
    links_.push_back({.link = name, .file = folder / (name + ".pcap")});
    captures_.push_back(std::make_unique<PacketCapture>(end.network_namespace, end.device, links_.back().file,
                                                        options.max_bytes));
  }
}

std::vector<LinkCapture> LinkCaptures::end() {
  for (std::size_t i = 0; i < captures_.size(); ++i) {
    try {
      links_[i].counts = captures_[i]->end();
    } catch (const std::exception& error) {
      links_[i].problem = error.what();
    }
  }
  captures_.clear();
  return std::move(links_);
}

}  // namespace thinpipe::netem
