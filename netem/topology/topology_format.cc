// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/topology_format.hh"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "netem/topology/link_shape.hh"
#include "netem/topology/node_names.hh"
#include "netem/topology/topology_checks.hh"
#include "netem/topology/topology_settings.hh"

namespace thinpipe::netem {
namespace {

using Groups = std::map<std::string, std::vector<std::string>>;

constexpr double share_limit = 1;  // shares are below this

void read_direction(JsonObject& object, Direction& out) {
  const Rule delay{.quantity = Quantity::duration, .at_least = 0, .at_most = max_delay_s};
  const Rule share{.at_least = 0, .below = share_limit};
  object.read("rate", out.rate_bit_per_s,
              {.quantity = Quantity::rate, .at_least = min_rate_bit_per_s, .at_most = max_rate_bit_per_s});
  object.read("burst", out.burst_bytes, {.quantity = Quantity::size, .at_most = max_buffer_bytes});
  object.read("queue", out.queue_bytes, {.quantity = Quantity::size, .at_most = max_buffer_bytes});
  std::string queueing = name_of(out.queueing);
  object.read("queueing", queueing, {.one_of = queueing_names()});
  out.queueing = queueing_of(queueing);
  object.read("ecn", out.ecn);
  object.read("delay", out.impairments.delay_s, delay);
  object.read("jitter", out.impairments.jitter_s, delay);
  object.read("loss", out.impairments.loss, share);
  object.read("duplication", out.impairments.duplication, share);
  object.read("reordering", out.impairments.reordering, share);
}

// Returns the settings `common` to both directions, with those that the member `key` overrides for this one.
Direction read_override(JsonObject& link, const char* key, const Direction& common) {
  Direction direction = common;
  Place place = link.place();
  if (const Json* value = link.find(key)) {
    place = link.place_of(key);
    JsonObject object(*value, place);
    read_direction(object, direction);
    object.finish();
  }
  check_direction(direction, place);
  return direction;
}

// Reads one end of "between": a name, group or range, or a list of them.
std::vector<PlacedName> read_ends(const Json& value, const Place& place, const Groups& groups) {
  if (!value.is_array()) {
    std::string text;
    read_value(value, place, {}, text);
    return read_end(text, place, groups);
  }
  std::vector<std::string> texts;
  read_value(value, place, {}, texts);
  std::vector<PlacedName> names;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::ranges::move(read_end(texts[i], place / i, groups), std::back_inserter(names));
  }
  return names;
}

// Expands one entry of "links"; one of its ends may stand for several nodes.
std::vector<PlacedLink> read_links(const Json& value, const Place& place, const Groups& groups,
                                   const Frame& frame) {
  JsonObject object(value, place);
  const Json& between = object.get("between");
  const Place between_place = object.place_of("between");
  if (!between.is_array() || between.size() != 2) {
    throw InputError(between_place,
                     "must be a list of two ends, each a name, or one of them a list of names");
  }
  Link common;
  Direction both{.frame = frame};
  read_direction(object, both);
  object.read("bottleneck", common.bottleneck);
  common.forward = read_override(object, "forward", both);
  common.backward = read_override(object, "backward", both);
  object.finish();
  check_bottleneck(common, place);

  const std::vector<PlacedName> a_end = read_ends(between[0], between_place / 0, groups);
  const std::vector<PlacedName> b_end = read_ends(between[1], between_place / 1, groups);
  if (a_end.size() > 1 && b_end.size() > 1) {
    throw InputError(between_place, "only one of the two ends may be a list, a group or a range");
  }
  std::vector<PlacedLink> links;
  for (const PlacedName& a : a_end) {
    for (const PlacedName& b : b_end) {
      PlacedLink link{common, a.place, b.place};
      link.link.a = a.name;
      link.link.b = b.name;
      links.push_back(std::move(link));
    }
  }
  return links;
}

Json to_json(const Direction& direction) {
  Json out = Json::object();
  if (!direction.rate_bit_per_s) return out;
  const LinkShape shape = link_shape_of(direction);
  out = {{"rate", format_quantity(Quantity::rate, shape.rate_bit_per_s)},
         {"burst", format_quantity(Quantity::size, shape.burst_bytes)},
         {"queue", format_quantity(Quantity::size, shape.queue_bytes)},
         {"queueing", name_of(shape.queueing)}};
  if (shape.ecn) out["ecn"] = true;
  const Impairments& asked = direction.impairments;
  for (const auto& [key, value_s] : {std::pair{"delay", asked.delay_s}, {"jitter", asked.jitter_s}}) {
    if (value_s > 0) out[key] = format_quantity(Quantity::duration, value_s);
  }
  for (const auto& [key, share] : {std::pair{"loss", asked.loss},
                                   {"duplication", asked.duplication},
                                   {"reordering", asked.reordering}}) {
    if (share > 0) out[key] = share;
  }
  return out;
}

}  // namespace

Topology parse_topology(const Json& value, const Place& place) {
  JsonObject object(value, place);
  Topology topology;
  std::string kind = "network";
  std::string forwarding = "bridged";
  std::string rendezvous;  // empty: not given
  object.read("name", topology.name, {.required = true});
  object.read("description", topology.description);
  object.read("kind", kind, {.one_of = {"network", "loopback", "cluster"}});
  object.read("network_interface", topology.network_interface);
  object.read("rendezvous", rendezvous, {.one_of = {"tcp", "folder"}});
  const Json* const congestion_control = object.find("congestion_control");
  const Json* const mtu = object.find("mtu");
  if (mtu != nullptr) topology.frame.packet_bytes = read_packet_bytes(*mtu, object.place_of("mtu"));
  object.read("forwarding", forwarding, {.one_of = {"bridged", "routed"}});
  const NodeNames switches(object.find("switches"), object.place_of("switches"));
  const NodeNames hosts(&object.get("hosts"), object.place_of("hosts"));
  check_nodes(switches, hosts, place);
  topology.switches = switches.names();
  topology.hosts = hosts.names();
  Groups groups = switches.groups();
  groups.insert(hosts.groups().begin(), hosts.groups().end());
  std::vector<PlacedLink> links;
  if (const Json* entries = object.find("links")) {
    if (!entries->is_array()) throw InputError(object.place_of("links"), "must be a list");
    for (std::size_t i = 0; i < entries->size(); ++i) {
      std::ranges::move(read_links((*entries)[i], object.place_of("links") / i, groups, topology.frame),
                        std::back_inserter(links));
    }
  }
  object.finish();
  for (const TopologyKind each : {TopologyKind::loopback, TopologyKind::cluster}) {
    if (kind == name_of(each)) topology.kind = each;
  }
  topology.forwarding = forwarding == "routed" ? Forwarding::routed : Forwarding::bridged;
  topology.meets_in_folder = rendezvous == "folder";
  if (topology.kind != TopologyKind::cluster) {
    constexpr auto only_in_cluster = "has an effect only in a topology of kind \"cluster\"; remove it";
    if (!topology.network_interface.empty()) throw InputError(place / "network_interface", only_in_cluster);
    if (!rendezvous.empty()) throw InputError(place / "rendezvous", only_in_cluster);
  }
  if (!topology.is_emulated()) {
    const auto refuse = [&](const char* key, const char* why) {
      throw InputError(place / key,
                       fmt::format("a {} topology {}; remove this, or use kind \"network\"", kind, why));
    };
    if (!links.empty()) refuse("links", "has no links");
    if (!topology.switches.empty()) refuse("switches", "has no switches");
    if (topology.forwarding == Forwarding::routed) refuse("forwarding", "has nothing to forward");
    if (mtu != nullptr) refuse("mtu", "has no links");
  } else {
    std::vector<PlacedName> nodes = switches.nodes();
    nodes.insert(nodes.end(), hosts.nodes().begin(), hosts.nodes().end());
    check_links(topology, nodes, links, place);
  }
  for (PlacedLink& link : links) topology.links.push_back(std::move(link.link));
  if (congestion_control != nullptr)
    set_congestion_control(topology, *congestion_control, place / "congestion_control");
  return topology;
}

Topology load_topology(const std::string& path) {
  return parse_topology(parse_json_file(path), {path, ""});
}

Json to_json(const Topology& topology) {
  Json links = Json::array();
  for (const Link& link : topology.links) {
    Json entry = {{"between", {link.a, link.b}}, {"bottleneck", link.bottleneck}};
    if (link.forward == link.backward) {
      entry.update(to_json(link.forward));
    } else {
      entry["forward"] = to_json(link.forward);
      entry["backward"] = to_json(link.backward);
    }
    links.push_back(std::move(entry));
  }
  Json out = {{"name", topology.name},          {"description", topology.description},
              {"kind", name_of(topology.kind)}, {"switches", topology.switches},
              {"hosts", topology.hosts},        {"links", std::move(links)}};
  // The default is omitted, so that records and run names from before this option existed keep their form.
  if (topology.forwarding == Forwarding::routed) out["forwarding"] = "routed";
  if (!topology.network_interface.empty()) out["network_interface"] = topology.network_interface;
  if (topology.meets_in_folder) out["rendezvous"] = "folder";
  if (!topology.other_congestion_controls.empty()) {
    out["congestion_control"] = topology.other_congestion_controls;
    out["congestion_control"]["default"] = topology.congestion_control;
  } else if (topology.congestion_control != default_congestion_control) {
    out["congestion_control"] = topology.congestion_control;
  }
  if (topology.frame != Frame{}) out["mtu"] = topology.frame.packet_bytes;
  return out;
}

}  // namespace thinpipe::netem
