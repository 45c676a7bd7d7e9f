// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/exchange.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/protocol/call.hh"
#include "netem/topology/reduction_tree.hh"
#include "netem/topology/shortest_paths.hh"

namespace thinpipe {
namespace {

// The bytes that one worker sends to another.
class BytesBetween {
 public:
  BytesBetween(std::size_t workers, const SentBytes& sent, const std::vector<int>& parents)
      : workers_(workers), sent_(sent), parents_(parents), below_(netem::workers_below(parents)) {}

  double operator()(std::size_t from, std::size_t to) const {
    const auto others = static_cast<double>(workers_ - 1);
    const std::size_t distance = (to + workers_ - from) % workers_;
    double bytes = sent_.pairwise / others;
    if (distance <= sent_.shifted.size()) bytes += sent_.shifted[distance - 1];
    for (const GroupShift& shift : sent_.group_shifts) {
      if (is_shift(shift, from, to)) bytes += shift.bytes;
    }
    return bytes + (parents_.empty() ? without_tree(distance) : along_tree(from, to));
  }

 private:
  static bool is_shift(const GroupShift& shift, std::size_t from, std::size_t to) {
    if (from / shift.workers != to / shift.workers) return false;
    return (from + shift.distance) % shift.workers == to % shift.workers;
  }

  double without_tree(std::size_t distance) const {
    double bytes = 0;
    if (distance == 1) bytes += sent_.around_ring + sent_.gathered + bytes_around_ring(sent_.codes, workers_);
    // A broadcast has N-1 messages. Counted from its root, v < 2^i sends one to v + 2^i, if that exists.
    if (std::has_single_bit(distance)) {
      const auto senders = static_cast<double>(std::min(distance, workers_ - distance));
      bytes += sent_.broadcast * senders / static_cast<double>(workers_ - 1);
    }
    return bytes;
  }

  double along_tree(std::size_t from, std::size_t to) const {
    const bool upwards = std::cmp_equal(parents_[from], to);
    if (!upwards && !std::cmp_equal(parents_[to], from)) return 0;
    const auto others = static_cast<double>(workers_ - 1);
    const std::int64_t behind = upwards ? below_[from] : static_cast<std::int64_t>(workers_) - below_[to];
    // All-reduces use each of the N-1 edges in both directions. Gathered and broadcast data cross each edge
    // once, away from their source.
    return sent_.around_ring * static_cast<double>(workers_) / (2 * others) +
           (sent_.gathered + sent_.broadcast) * static_cast<double>(behind) / others +
           sent_.codes * bits_of_code_sum(behind, sent_.largest_code) / 8;
  }

  std::size_t workers_;
  const SentBytes& sent_;
  const std::vector<int>& parents_;
  std::vector<std::int64_t> below_;
};

// Returns the bytes that cross each link, forward and backward.
std::vector<std::array<double, 2>> crossing_bytes(const netem::Topology& topology, std::size_t workers,
                                                  const SentBytes& sent, const std::vector<int>& parents) {
  const netem::ShortestPaths shortest_paths(topology);
  const BytesBetween bytes_between(workers, sent, parents);
  std::vector<std::array<double, 2>> bytes(topology.links.size());
  for (std::size_t from = 0; from < workers; ++from) {
    for (std::size_t to = 0; to < workers; ++to) {
      if (from == to) continue;
      const double between = bytes_between(from, to);
      if (between == 0) continue;
      for (const netem::DirectedLink& directed_link : shortest_paths.path(from, to)) {
        bytes[directed_link.link][directed_link.forward ? 0 : 1] += between;
      }
    }
  }
  return bytes;
}

}  // namespace

double bytes_around_ring(double bytes, std::size_t workers) {
  return 2 * bytes * static_cast<double>(workers - 1) / static_cast<double>(workers);
}

double mean_sent_bytes(std::size_t workers, const SentBytes& sent, const std::vector<int>& parents) {
  const BytesBetween bytes_between(workers, sent, parents);
  double all = 0;
  for (std::size_t from = 0; from < workers; ++from) {
    for (std::size_t to = 0; to < workers; ++to) {
      if (from != to) all += bytes_between(from, to);
    }
  }
  return all / static_cast<double>(workers);
}

std::optional<ExchangePrediction> predict_exchange(const netem::Topology& topology, std::int64_t workers,
                                                   const SentBytes& sent, const std::vector<int>& parents) {
  if (!topology.is_emulated()) return {};
  const auto bytes = crossing_bytes(topology, static_cast<std::size_t>(workers), sent, parents);
  std::optional<ExchangePrediction> slowest;
  const auto consider = [&](const std::string& from, const std::string& to, const netem::Direction& direction,
                            double sent_bytes) {
    if (!direction.rate_bit_per_s) return;
    const double wire_bytes = sent_bytes / direction.frame.goodput_of_cap();
    const double time_s = 8 * wire_bytes / *direction.rate_bit_per_s;
    if (wire_bytes > 0 && (!slowest || time_s > slowest->time_s)) {
      slowest = {netem::direction_name(from, to), wire_bytes, time_s};
    }
  };
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    const netem::Link& link = topology.links[i];
    consider(link.a, link.b, link.forward, bytes[i][0]);
    consider(link.b, link.a, link.backward, bytes[i][1]);
  }
  return slowest;
}

}  // namespace thinpipe
