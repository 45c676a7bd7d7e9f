// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/topology_settings.hh"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "common/support/utf8.hh"
#include "netem/topology/link_shape.hh"
#include "netem/topology/topology_checks.hh"

namespace thinpipe::netem {
namespace {

constexpr std::size_t max_congestion_control_bytes = 15;
constexpr const char* all_other_hosts = "default";  // the key of their congestion control

std::string read_congestion_control(const Json& value, const Place& place) {
  std::string name;
  read_value(value, place, {}, name);
  const bool is_name = std::ranges::all_of(
      name, [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_'; });
  if (name.empty() || name.size() > max_congestion_control_bytes || !is_name) {
    throw InputError(
        place, fmt::format("must be the name of a congestion control, such as cubic, reno or bbr, but is "
                           "\"{}\"",
                           printable(name)));
  }
  return name;
}

void check_is_emulated(const Topology& topology, const Place& place) {
  if (topology.is_emulated()) return;
  throw InputError(place, fmt::format("works only over an emulated network, but the topology {} is of kind "
                                      "\"{}\"; remove it",
                                      topology.name, name_of(topology.kind)));
}

// Returns the bytes that the direction sends in this time, but at least that many. Throws InputError if a
// buffer of the kernel's cannot hold them.
double buffer_bytes(const Direction& direction, double seconds, double least_bytes, const Place& place) {
  const double bytes_per_s = *direction.rate_bit_per_s / 8;
  const double bytes = std::max(least_bytes, seconds * bytes_per_s);
  if (bytes <= max_buffer_bytes) return bytes;
  const double most_s = std::floor(1e3 * max_buffer_bytes / bytes_per_s) / 1e3;
  throw InputError(place, fmt::format("is {} at {}, but the kernel holds {} at most; write at most {}",
                                      format_quantity(Quantity::size, bytes),
                                      format_quantity(Quantity::rate, *direction.rate_bit_per_s),
                                      format_quantity(Quantity::size, max_buffer_bytes),
                                      format_quantity(Quantity::duration, most_s)));
}

// Changes each direction of a bottleneck that has a cap, and checks it. Throws InputError if there is none.
void for_each_bottleneck(Topology& topology, const Place& place,
                         const std::function<void(Direction& direction)>& change) {
  bool found = false;
  for (Link& link : topology.links) {
    if (!link.bottleneck) continue;
    found = true;
    for (Direction* direction : {&link.forward, &link.backward}) {
      if (!direction->rate_bit_per_s) continue;
      change(*direction);
      check_direction(*direction, place);
    }
  }
  if (!found) {
    throw InputError(place, fmt::format("the topology {} has no bottleneck that this could change; mark a "
                                        "link with \"bottleneck\": true",
                                        topology.name));
  }
}

}  // namespace

void set_bottleneck_rate(Topology& topology, double rate_bit_per_s, const Place& place) {
  if (rate_bit_per_s < min_rate_bit_per_s || rate_bit_per_s > max_rate_bit_per_s) {
    throw InputError(place, fmt::format("must be at least {} and at most {}, but is {}",
                                        format_quantity(Quantity::rate, min_rate_bit_per_s),
                                        format_quantity(Quantity::rate, max_rate_bit_per_s),
                                        format_quantity(Quantity::rate, rate_bit_per_s)));
  }
  for_each_bottleneck(topology, place,
                      [rate_bit_per_s](Direction& direction) { direction.rate_bit_per_s = rate_bit_per_s; });
}

void forget_bottleneck_buffers(Topology& topology, bool bursts, bool queues) {
  for (Link& link : topology.links) {
    if (!link.bottleneck) continue;
    for (Direction* direction : {&link.forward, &link.backward}) {
      if (bursts) direction->burst_bytes.reset();
      if (queues) direction->queue_bytes.reset();
    }
  }
}

void set_bottleneck_burst(Topology& topology, double burst_s, const Place& place) {
  for_each_bottleneck(topology, place, [&](Direction& direction) {
    direction.burst_bytes = buffer_bytes(direction, burst_s, min_burst_bytes(direction.frame), place);
  });
}

void set_bottleneck_queue(Topology& topology, double queue_s, const Place& place) {
  for_each_bottleneck(topology, place, [&](Direction& direction) {
    direction.queue_bytes = buffer_bytes(direction, queue_s, min_queue_bytes(direction.frame), place);
  });
}

void set_bottleneck_queueing(Topology& topology, std::optional<Queueing> queueing, std::optional<bool> ecn,
                             const Place& place) {
  for_each_bottleneck(topology, place, [&](Direction& direction) {
    direction.queueing = queueing.value_or(direction.queueing);
    direction.ecn = ecn.value_or(direction.ecn);
  });
}

void set_congestion_control(Topology& topology, const Json& value, const Place& place) {
  check_is_emulated(topology, place);
  topology.congestion_control = default_congestion_control;
  topology.other_congestion_controls.clear();
  if (!value.is_object()) {
    topology.congestion_control = read_congestion_control(value, place);
    return;
  }
  JsonObject object(value, place);
  if (const Json* name = object.find(all_other_hosts))
    topology.congestion_control = read_congestion_control(*name, object.place_of(all_other_hosts));
  for (const std::string& host : topology.hosts) {
    const Json* const name = object.find(host);
    if (name == nullptr || host == all_other_hosts) continue;
    const std::string own = read_congestion_control(*name, object.place_of(host));
    if (own != topology.congestion_control) topology.other_congestion_controls[host] = own;
  }
  object.finish();
}

unsigned read_packet_bytes(const Json& value, const Place& place) {
  std::int64_t bytes = 0;
  read_value(value, place, {.at_least = min_packet_bytes, .at_most = max_packet_bytes}, bytes);
  return static_cast<unsigned>(bytes);
}

void set_mtu(Topology& topology, const Json& value, const Place& place) {
  check_is_emulated(topology, place);
  topology.frame.packet_bytes = read_packet_bytes(value, place);
  for (Link& link : topology.links) {
    for (Direction* direction : {&link.forward, &link.backward}) {
      direction->frame = topology.frame;
      check_direction(*direction, place);
    }
  }
}

}  // namespace thinpipe::netem
