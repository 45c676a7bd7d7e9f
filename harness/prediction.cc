#include "harness/prediction.hh"

#include <map>

namespace thinpipe {
namespace {

using Direction = std::pair<std::string, std::string>;

// The directions on the way from one node to another of a tree; false when `to` does not lie beyond `from`.
bool walk(const netem::Topology& topology, const std::string& from, const std::string& to,
          const std::string& previous, std::vector<Direction>& path) {
  if (from == to) return true;
  for (const netem::Link& link : topology.links) {
    if (link.a != from && link.b != from) continue;
    const std::string& next = link.a == from ? link.b : link.a;
    if (next == previous) continue;
    path.emplace_back(from, next);
    if (walk(topology, next, to, from, path)) return true;
    path.pop_back();
  }
  return false;
}

}  // namespace

std::optional<Prediction> predict(const netem::Topology& topology, std::int64_t workers,
                                  double sent_bytes_per_iteration) {
  std::map<Direction, int> crossings;
  for (std::size_t rank = 0; workers > 1 && rank < static_cast<std::size_t>(workers); ++rank) {
    std::vector<Direction> path;
    walk(topology, topology.hosts.at(rank), topology.hosts.at((rank + 1) % static_cast<std::size_t>(workers)),
         "", path);
    for (const Direction& direction : path) ++crossings[direction];
  }
  std::optional<Prediction> slowest;
  for (const netem::Link& link : topology.links) {
    if (!link.rate_bit_per_s) continue;
    for (const Direction& direction : {Direction{link.a, link.b}, Direction{link.b, link.a}}) {
      const double wire_bytes = crossings[direction] * sent_bytes_per_iteration / goodput_share;
      const double time_s = 8 * wire_bytes / *link.rate_bit_per_s;
      if (wire_bytes > 0 && (!slowest || time_s > slowest->exchange_time_s)) {
        slowest = {direction.first + "->" + direction.second, wire_bytes, time_s};
      }
    }
  }
  return slowest;
}

}  // namespace thinpipe
