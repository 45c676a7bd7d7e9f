// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/bucket_sizes.hh"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/plan/prediction.hh"
#include "harness/simulation/fluid_network.hh"

namespace thinpipe {
namespace {

// Time for a worker that shares a core to wake up and pass a message on. An assumption: twice as much would
// make buckets 1.4 times as large.
constexpr double hop_s = 200e-6;

constexpr double collectives_of_bucket = 2;

// Returns the latency up the tree and down again.
double along_tree_s(const FluidNetwork& network, const std::vector<int>& parents) {
  double max_s = 0;
  for (std::size_t worker = 0; worker < parents.size(); ++worker) {
    double to_root_s = 0;
    for (auto at = static_cast<int>(worker); parents[at] >= 0; at = parents[at]) {
      to_root_s += hop_s + network.latency_s(at, parents[at]);
    }
    max_s = std::max(max_s, to_root_s);
  }
  return 2 * max_s;
}

// Returns the latency of two rounds of the ring: one to sum, one to distribute the sum.
double around_ring_s(const FluidNetwork& network, std::size_t workers) {
  double time_s = 0;
  for (std::size_t round = 0; round < 2 * (workers - 1); ++round) {
    time_s += hop_s + network.latency_s(round % workers, (round + 1) % workers);
  }
  return time_s;
}

}  // namespace

double min_bucket_s(const Run& run) {
  const FluidNetwork network(run.setting->topology);
  return collectives_of_bucket * (run.reduction_tree.empty()
                                      ? around_ring_s(network, static_cast<std::size_t>(run.workers))
                                      : along_tree_s(network, run.reduction_tree));
}

std::optional<std::int64_t> suitable_bucket_bytes(const Run& run) {
  const auto exchange = predict_exchange(run);
  if (!exchange) return {};
  const double buckets = std::max(1.0, std::sqrt(exchange->time_s / min_bucket_s(run)) / 2);
  constexpr double mebibyte = 1 << 20;
  const auto gradient_bytes = run.training->plan.at("gradient_bytes").get<double>();
  const double mebibytes = gradient_bytes / buckets / mebibyte;
  // A single bucket must hold the whole gradient.
  return static_cast<std::int64_t>(
      (buckets > 1 ? std::max(1.0, std::round(mebibytes)) : std::ceil(mebibytes)) * mebibyte);
}

}  // namespace thinpipe
