#include "harness/prediction.hh"

#include <algorithm>
#include <array>
#include <numeric>

#include "netem/routes.hh"

namespace thinpipe {

std::optional<ExchangePrediction> predict_exchange(const netem::Topology& topology, std::int64_t workers,
                                                   double sent_bytes_per_iteration) {
  if (topology.kind == netem::TopologyKind::loopback) return {};
  const netem::Routes routes(topology);
  std::vector<std::array<int, 2>> crossings(topology.links.size());  // forward and backward, by link
  for (std::size_t rank = 0; workers > 1 && rank < static_cast<std::size_t>(workers); ++rank) {
    const std::size_t next_rank = (rank + 1) % static_cast<std::size_t>(workers);
    for (const netem::Crossing& crossing : routes.path(rank, next_rank)) {
      ++crossings[crossing.link][crossing.forward ? 0 : 1];
    }
  }
  std::optional<ExchangePrediction> slowest;
  const auto consider = [&](const std::string& from, const std::string& to, const netem::Direction& direction,
                            int times) {
    if (!direction.rate_bit_per_s) return;
    const double wire_bytes = times * sent_bytes_per_iteration / goodput_share;
    const double time_s = 8 * wire_bytes / *direction.rate_bit_per_s;
    if (wire_bytes > 0 && (!slowest || time_s > slowest->time_s)) {
      slowest = {from + "->" + to, wire_bytes, time_s};
    }
  };
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    const netem::Link& link = topology.links[i];
    consider(link.a, link.b, link.forward, crossings[i][0]);
    consider(link.b, link.a, link.backward, crossings[i][1]);
  }
  return slowest;
}

double predict_iteration_s(const std::vector<double>& bucket_bytes, double compute_s, double exchange_s) {
  constexpr double forward_share = 1.0 / 3;
  const double all_bytes = std::accumulate(bucket_bytes.begin(), bucket_bytes.end(), 0.0);
  double exchanged_at_s = 0;
  double bytes = 0;
  for (const double bucket : bucket_bytes) {
    bytes += bucket;
    const double ready_at_s = compute_s * (forward_share + (1 - forward_share) * bytes / all_bytes);
    exchanged_at_s = std::max(exchanged_at_s, ready_at_s) + exchange_s * bucket / all_bytes;
  }
  return exchanged_at_s;
}

}  // namespace thinpipe
