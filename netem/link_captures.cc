// SPDX-License-Identifier: Apache-2.0
#include "netem/link_captures.hh"

#include <map>
#include <set>

#include <fmt/format.h>

#include "netem/topology/link_names.hh"

namespace thinpipe::netem {
namespace {

std::string file_stem(const Link& link) {
  return link.a + "-" + link.b;
}

// A link is captured once, whichever of its directions are named. Throws InputError if two links would share
// a file, which they can because names of nodes may contain a "-".
std::set<std::size_t> links_of(const CaptureOptions& options, const Topology& topology, const Place& place) {
  const LinkNames names(topology);
  std::set<std::size_t> out;
  for (const std::string& name : options.links) {
    for (const DirectedLink& direction : names.find(name, place)) out.insert(direction.link);
  }
  std::map<std::string, std::size_t> link_of;  // by name of its file
  for (const std::size_t i : out) {
    const auto [before, is_new] = link_of.emplace(file_stem(topology.links[i]), i);
    if (is_new) continue;
    throw InputError(
        place,
        fmt::format("the links {} and {} would share the file {}.pcap; capture one of them, or rename a node",
                    name_of(topology, {before->second, true}), name_of(topology, {i, true}), before->first));
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
    const std::string name = file_stem(topology.links[i]);
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
