// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/fluid_network.hh"

#include <algorithm>

#include "netem/topology/link_shape.hh"
#include "netem/topology/shortest_paths.hh"

namespace thinpipe {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Counts as sent, whatever the message's length, because sums of levels are not exact.
constexpr double negligible_bytes = 1e-6;

const netem::Direction& direction_of(const netem::Topology& topology,
                                     const netem::DirectedLink& directed_link) {
  const netem::Link& link = topology.links[directed_link.link];
  return directed_link.forward ? link.forward : link.backward;
}

// Hosts send segments that suit the smallest burst of the network.
double acknowledgements_of(const netem::Topology& topology) {
  double most = 0;
  for (const netem::Link& link : topology.links) {
    for (const netem::Direction& direction : {link.forward, link.backward}) {
      if (!direction.rate_bit_per_s) continue;
      const unsigned segment_bytes = netem::largest_segment_bytes(netem::link_shape_of(direction));
      const double acknowledged_bytes =
          netem::acknowledged_frames(segment_bytes, direction.frame) * direction.frame.payload_bytes();
      most = std::max(most,
                      netem::acknowledgement_bytes * direction.frame.goodput_of_cap() / acknowledged_bytes);
    }
  }
  return most;
}

}  // namespace

FluidNetwork::FluidNetwork(const netem::Topology& topology)
    : hosts_(topology.hosts.size()), pairs_(hosts_ * hosts_) {
  classes_.emplace_back();  // for messages that cross no cap
  if (!topology.is_emulated()) return;
  acknowledgements_ = acknowledgements_of(topology);
  const netem::ShortestPaths shortest_paths(topology);
  std::map<std::pair<std::size_t, bool>, std::size_t> numbers;
  // Adds the path's times to `pair` and returns its caps.
  const auto follow = [&](std::size_t from, std::size_t to, Pair& pair) {
    std::vector<std::size_t> caps;
    for (const netem::DirectedLink& directed_link : shortest_paths.path(from, to)) {
      const netem::Direction& direction = direction_of(topology, directed_link);
      pair.delay_s += direction.impairments.delay_s;
      pair.latency_s += direction.impairments.delay_s;
      if (!direction.rate_bit_per_s) continue;
      pair.latency_s += 8 * direction.frame.bytes() / *direction.rate_bit_per_s;
      const auto [number, is_new] =
          numbers.try_emplace({directed_link.link, directed_link.forward}, caps_.size());
      if (is_new) caps_.push_back(cap_of(direction));
      caps.push_back(number->second);
    }
    std::ranges::sort(caps);
    return caps;
  };
  using Caps = std::vector<std::size_t>;
  std::map<std::pair<Caps, Caps>, std::size_t> class_of = {{{}, 0}};
  for (std::size_t from = 0; from < hosts_; ++from) {
    for (std::size_t to = 0; to < hosts_; ++to) {
      Pair& pair = pairs_[from * hosts_ + to];
      Pair back;
      std::pair key = {follow(from, to, pair), follow(to, from, back)};
      if (key.first.empty())
        key.second.clear();  // it has no rate from which that of acknowledgements would follow
      const auto [entry, is_new] = class_of.try_emplace(key, classes_.size());
      if (is_new) classes_.push_back({.caps = key.first, .caps_back = key.second});
      pair.message_class = entry->second;
    }
  }
}

FluidNetwork::Cap FluidNetwork::cap_of(const netem::Direction& direction) {
  const double goodput = direction.frame.goodput_of_cap();
  return {.bytes_per_s = *direction.rate_bit_per_s / 8 * goodput,
          .burst_bytes = netem::link_shape_of(direction).burst_bytes * goodput};
}

double FluidNetwork::start(std::size_t from, std::size_t to, double payload_bytes, std::size_t id) {
  Class& own = classes_[pair(from, to).message_class];
  double at_once_bytes = payload_bytes;
  for (const std::size_t cap : own.caps) at_once_bytes = std::min(at_once_bytes, caps_[cap].credit_bytes);
  for (const std::size_t cap : own.caps) caps_[cap].credit_bytes -= at_once_bytes;
  own.messages.push({own.level + payload_bytes - at_once_bytes, id});
  is_shared_ = false;
  return at_once_bytes < payload_bytes ? pair(from, to).latency_s : pair(from, to).delay_s;
}

double FluidNetwork::next_completion_s() {
  if (!is_shared_) share();
  double next_s = infinity;
  for (const Class& each : classes_) {
    if (each.messages.empty()) continue;
    const double left = each.messages.top().level - each.level;
    next_s = std::min(next_s, left <= negligible_bytes || each.caps.empty() ? 0 : left / each.rate);
  }
  return next_s;
}

std::vector<std::size_t> FluidNetwork::advance(double time_s) {
  if (!is_shared_) share();
  for (Cap& cap : caps_)
    cap.credit_bytes = std::min(cap.burst_bytes, cap.credit_bytes + time_s * cap.unused_bytes_per_s);
  std::vector<std::size_t> sent;
  for (Class& each : classes_) {
    if (each.messages.empty()) continue;
    if (!each.caps.empty()) each.level += time_s * each.rate;
    while (!each.messages.empty() &&
           (each.caps.empty() || each.messages.top().level <= each.level + negligible_bytes)) {
      sent.push_back(each.messages.top().id);
      each.messages.pop();
      is_shared_ = false;
    }
    if (each.messages.empty()) each.level = 0;
  }
  return sent;
}

void FluidNetwork::share() {
  is_shared_ = true;
  for (Cap& cap : caps_) cap.unused_bytes_per_s = cap.bytes_per_s;
  fill();
  // Messages in the other direction cannot use what the acknowledgements of these take. On a very slow cap, both share it
  // like flows: acknowledgements get at most half. That they would then slow down their messages is left out.
  for (Cap& cap : caps_) cap.unused_bytes_per_s = cap.bytes_per_s;
  for (const Class& each : classes_) {
    if (each.messages.empty()) continue;
    for (const std::size_t cap : each.caps_back) {
      caps_[cap].unused_bytes_per_s -=
          acknowledgements_ * each.rate * static_cast<double>(each.messages.size());
    }
  }
  for (Cap& cap : caps_) cap.unused_bytes_per_s = std::max(cap.unused_bytes_per_s, cap.bytes_per_s / 2);
  fill();
}

// Progressive filling: the cap with the smallest share per message sets the rate of its messages; then the
// next one does.
void FluidNetwork::fill() {
  std::vector<double> messages(caps_.size());
  std::vector<Class*> open;
  for (Class& each : classes_) {
    if (each.messages.empty() || each.caps.empty()) continue;
    open.push_back(&each);
    for (const std::size_t cap : each.caps) messages[cap] += static_cast<double>(each.messages.size());
  }
  while (!open.empty()) {
    std::size_t tightest = 0;
    double least = infinity;
    for (std::size_t cap = 0; cap < caps_.size(); ++cap) {
      if (messages[cap] > 0 && caps_[cap].unused_bytes_per_s / messages[cap] < least) {
        least = caps_[cap].unused_bytes_per_s / messages[cap];
        tightest = cap;
      }
    }
    std::erase_if(open, [&](Class* each) {
      if (std::ranges::find(each->caps, tightest) == each->caps.end()) return false;
      each->rate = least;
      const auto count = static_cast<double>(each->messages.size());
      for (const std::size_t cap : each->caps) {
        caps_[cap].unused_bytes_per_s = std::max(0.0, caps_[cap].unused_bytes_per_s - least * count);
        messages[cap] -= count;
      }
      return true;
    });
  }
}

}  // namespace thinpipe
