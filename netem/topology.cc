#include "netem/topology.hh"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "harness/support/nearest.hh"
#include "netem/shape.hh"
#include "netem/topology_checks.hh"

namespace thinpipe::netem {
namespace {

// Expands one entry of "links", of whose ends one may be a list.
std::vector<PlacedLink> read_links(const Json& value, const Place& place) {
  JsonObject object(value, place);
  const Json& between = object.get("between");
  const Place between_place = object.place_of("between");
  if (!between.is_array() || between.size() != 2) {
    throw InputError(between_place,
                     "must be a list of two ends, each a name, or one of them a list of names");
  }
  if (between[0].is_array() && between[1].is_array()) {
    throw InputError(between_place, "only one of the two ends may be a list");
  }
  Link common;
  object.read(
      "rate", common.rate_bit_per_s,
      {.quantity = Quantity::rate, .at_least = slowest_rate_bit_per_s, .at_most = fastest_rate_bit_per_s});
  object.read("burst", common.burst_bytes, {.quantity = Quantity::size, .at_most = most_buffer_bytes});
  object.read("queue", common.queue_bytes, {.quantity = Quantity::size, .at_most = most_buffer_bytes});
  object.read("bottleneck", common.bottleneck);
  object.finish();
  check_caps(common, place);

  std::vector<std::vector<std::pair<std::string, Place>>> ends(2);
  for (std::size_t side = 0; side < 2; ++side) {
    const Json& end = between[side];
    const Place end_place = between_place / side;
    std::vector<std::string> names(1);
    if (end.is_array()) {
      read_value(end, end_place, {}, names);
      for (std::size_t i = 0; i < names.size(); ++i) ends[side].emplace_back(names[i], end_place / i);
    } else {
      read_value(end, end_place, {}, names[0]);
      ends[side].emplace_back(names[0], end_place);
    }
  }
  std::vector<PlacedLink> links;
  for (const auto& [a, a_place] : ends[0]) {
    for (const auto& [b, b_place] : ends[1]) {
      PlacedLink link{common, a_place, b_place};
      link.link.a = a;
      link.link.b = b;
      links.push_back(std::move(link));
    }
  }
  return links;
}

}  // namespace

Topology parse_topology(const Json& value, const Place& place) {
  JsonObject object(value, place);
  Topology topology;
  std::string kind = "network";
  object.read("name", topology.name, {.required = true});
  object.read("description", topology.description);
  object.read("kind", kind, {.one_of = {"network", "loopback"}});
  object.read("switches", topology.switches);
  object.read("hosts", topology.hosts, {.required = true});
  std::vector<PlacedLink> links;
  if (const Json* entries = object.find("links")) {
    if (!entries->is_array()) throw InputError(object.place_of("links"), "must be a list");
    for (std::size_t i = 0; i < entries->size(); ++i) {
      std::ranges::move(read_links((*entries)[i], object.place_of("links") / i), std::back_inserter(links));
    }
  }
  object.finish();
  topology.kind = kind == "loopback" ? TopologyKind::loopback : TopologyKind::network;
  check_nodes(topology, place);
  if (topology.kind == TopologyKind::loopback) {
    if (!links.empty()) throw InputError(place / "links", "a loopback topology has no links");
    if (!topology.switches.empty())
      throw InputError(place / "switches", "a loopback topology has no switches");
  } else {
    check_links(topology, links, place);
  }
  for (PlacedLink& link : links) topology.links.push_back(std::move(link.link));
  return topology;
}

Topology load_topology(const std::string& path) {
  return parse_topology(parse_json_file(path), {path, ""});
}

Json to_json(const Topology& topology) {
  Json links = Json::array();
  for (const Link& link : topology.links) {
    Json entry = {{"between", {link.a, link.b}}, {"bottleneck", link.bottleneck}};
    if (link.rate_bit_per_s) {
      const Shape shape = shape_of(link);
      entry["rate"] = format_quantity(Quantity::rate, shape.rate_bit_per_s);
      entry["burst"] = format_quantity(Quantity::size, shape.burst_bytes);
      entry["queue"] = format_quantity(Quantity::size, shape.queue_bytes);
    }
    links.push_back(std::move(entry));
  }
  return {{"name", topology.name},
          {"description", topology.description},
          {"kind", topology.kind == TopologyKind::loopback ? "loopback" : "network"},
          {"switches", topology.switches},
          {"hosts", topology.hosts},
          {"links", std::move(links)}};
}

void set_bottleneck_rate(Topology& topology, double rate_bit_per_s, const Place& place) {
  if (rate_bit_per_s < slowest_rate_bit_per_s || rate_bit_per_s > fastest_rate_bit_per_s) {
    throw InputError(place, fmt::format("must be at least {} and at most {}, but is {}",
                                        format_quantity(Quantity::rate, slowest_rate_bit_per_s),
                                        format_quantity(Quantity::rate, fastest_rate_bit_per_s),
                                        format_quantity(Quantity::rate, rate_bit_per_s)));
  }
  bool found = false;
  for (Link& link : topology.links) {
    if (!link.bottleneck) continue;
    found = true;
    link.rate_bit_per_s = rate_bit_per_s;
    check_caps(link, place);
  }
  if (!found) {
    throw InputError(
        place, fmt::format("the topology {} has no link with \"bottleneck\": true whose rate this could "
                           "set",
                           topology.name));
  }
}

}  // namespace thinpipe::netem
