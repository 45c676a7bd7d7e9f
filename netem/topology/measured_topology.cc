// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/measured_topology.hh"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "netem/topology/frame.hh"

namespace thinpipe::netem {
namespace {

constexpr double share_within_island = 0.5;
// Rates that differ by less are taken as equal: the noise of a measurement must not decide on the reduction tree, which
// decides on the order of sums.
constexpr double equal_within = 0.1;

double slower_direction(const RateMatrix& bit_per_s, std::size_t a, std::size_t b) {
  return std::min(bit_per_s[a][b], bit_per_s[b][a]);
}

double best_of(const RateMatrix& bit_per_s, std::size_t worker) {
  double best = 0;
  for (std::size_t other = 0; other < bit_per_s.size(); ++other) {
    if (other != worker) best = std::max(best, slower_direction(bit_per_s, worker, other));
  }
  return best;
}

// Returns a link's cap; none if the rate is beyond what caps can be.
std::optional<double> cap_of(double payload_bit_per_s) {
  const double wire_bit_per_s = std::max(std::round(payload_bit_per_s / goodput_of_cap), min_rate_bit_per_s);
  return wire_bit_per_s <= max_rate_bit_per_s ? std::optional(wire_bit_per_s) : std::nullopt;
}

void set_caps(Link& link, double forward_bit_per_s, double backward_bit_per_s) {
  const auto [less, more] = std::minmax(forward_bit_per_s, backward_bit_per_s);
  const bool are_equal = more <= less * (1 + equal_within);
  link.forward.rate_bit_per_s = cap_of(are_equal ? more : forward_bit_per_s);
  link.backward.rate_bit_per_s = cap_of(are_equal ? more : backward_bit_per_s);
}

// Returns the highest rate from one group of workers to another.
double highest(const RateMatrix& bit_per_s, const std::vector<int>& from, const std::vector<int>& to) {
  double out = 0;
  for (const int a : from) {
    for (const int b : to) {
      if (a != b) out = std::max(out, bit_per_s[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]);
    }
  }
  return out;
}

// Returns pairs of islands, each with one that came before, so that the links between them are the fastest.
std::vector<std::pair<std::size_t, std::size_t>> fastest_links(const RateMatrix& bit_per_s,
                                                               const std::vector<std::vector<int>>& islands) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  std::vector<std::size_t> reached = {0};
  while (reached.size() < islands.size()) {
    double best = 0;
    std::pair<std::size_t, std::size_t> link;
    for (const std::size_t i : reached) {
      for (std::size_t j = 0; j < islands.size(); ++j) {
        if (std::ranges::find(reached, j) != reached.end()) continue;
        const double rate =
            std::min(highest(bit_per_s, islands[i], islands[j]), highest(bit_per_s, islands[j], islands[i]));
        if (best == 0 || rate > best * (1 + equal_within)) {
          best = rate;
          link = {i, j};
        }
      }
    }
    out.push_back(link);
    reached.push_back(link.second);
  }
  return out;
}

}  // namespace

std::vector<std::vector<int>> islands_of(const RateMatrix& bit_per_s) {
  const std::size_t workers = bit_per_s.size();
  std::vector<std::size_t> island(workers);  // by its first worker
  std::iota(island.begin(), island.end(), 0);
  for (std::size_t a = 0; a < workers; ++a) {
    for (std::size_t b = a + 1; b < workers; ++b) {
      const double best = std::min(best_of(bit_per_s, a), best_of(bit_per_s, b));
      if (slower_direction(bit_per_s, a, b) < share_within_island * best) continue;
      const auto [first, second] = std::minmax(island[a], island[b]);
      std::ranges::replace(island, std::size_t{second}, std::size_t{first});
    }
  }
  std::vector<std::vector<int>> out;
  for (std::size_t first = 0; first < workers; ++first) {
    std::vector<int> members;
    for (std::size_t worker = first; worker < workers; ++worker) {
      if (island[worker] == first) members.push_back(static_cast<int>(worker));
    }
    if (!members.empty()) out.push_back(std::move(members));
  }
  return out;
}

Topology topology_of(const RateMatrix& bit_per_s, const std::string& name,
                     const std::vector<std::string>& hosts) {
  Topology out{.name = name, .hosts = hosts};
  const std::vector<std::vector<int>> islands = islands_of(bit_per_s);
  std::vector<int> all(hosts.size());
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = 0; i < islands.size(); ++i) {
    out.switches.push_back(fmt::format("island{}", i));
    for (const int worker : islands[i]) {
      Link link{.a = hosts[static_cast<std::size_t>(worker)], .b = out.switches.back()};
      set_caps(link, highest(bit_per_s, {worker}, all), highest(bit_per_s, all, {worker}));
      link.bottleneck = islands.size() == 1 && !is_uncapped(link);  // it may be too fast for a cap
      out.links.push_back(std::move(link));
    }
  }
  for (const auto& [i, j] : fastest_links(bit_per_s, islands)) {
    Link link{.a = out.switches[i], .b = out.switches[j]};
    set_caps(link, highest(bit_per_s, islands[i], islands[j]), highest(bit_per_s, islands[j], islands[i]));
    link.bottleneck = !is_uncapped(link);
    out.links.push_back(std::move(link));
  }
  return out;
}

}  // namespace thinpipe::netem
