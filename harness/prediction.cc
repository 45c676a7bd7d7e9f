#include "harness/prediction.hh"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "netem/frame.hh"
#include "netem/routes.hh"

namespace thinpipe {

namespace {

// What one worker sends another.
double bytes_between(std::size_t from, std::size_t to, std::size_t workers, const SentBytes& sent,
                     const std::vector<int>& parents) {
  const auto others = static_cast<double>(workers - 1);
  double bytes = sent.pairwise / others;
  if (parents.empty()) {
    if (to == (from + 1) % workers) bytes += sent.around_ring;
  } else if (std::cmp_equal(parents[from], to) || std::cmp_equal(parents[to], from)) {
    // Over N-1 edges, each in both directions.
    bytes += sent.around_ring * static_cast<double>(workers) / (2 * others);
  }
  return bytes;
}

// Bytes that cross each link, forward and backward.
std::vector<std::array<double, 2>> crossing_bytes(const netem::Topology& topology, std::size_t workers,
                                                  const SentBytes& sent, const std::vector<int>& parents) {
  const netem::Routes routes(topology);
  std::vector<std::array<double, 2>> bytes(topology.links.size());
  for (std::size_t from = 0; from < workers; ++from) {
    for (std::size_t to = 0; to < workers; ++to) {
      if (from == to) continue;
      const double between = bytes_between(from, to, workers, sent, parents);
      if (between == 0) continue;
      for (const netem::Crossing& crossing : routes.path(from, to)) {
        bytes[crossing.link][crossing.forward ? 0 : 1] += between;
      }
    }
  }
  return bytes;
}

}  // namespace

std::optional<ExchangePrediction> predict_exchange(const netem::Topology& topology, std::int64_t workers,
                                                   const SentBytes& sent, const std::vector<int>& parents) {
  if (topology.kind == netem::TopologyKind::loopback) return {};
  const auto bytes = crossing_bytes(topology, static_cast<std::size_t>(workers), sent, parents);
  std::optional<ExchangePrediction> slowest;
  const auto consider = [&](const std::string& from, const std::string& to, const netem::Direction& direction,
                            double sent_bytes) {
    if (!direction.rate_bit_per_s) return;
    const double wire_bytes = sent_bytes / netem::goodput_of_cap;
    const double time_s = 8 * wire_bytes / *direction.rate_bit_per_s;
    if (wire_bytes > 0 && (!slowest || time_s > slowest->time_s)) {
      slowest = {from + "->" + to, wire_bytes, time_s};
    }
  };
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    const netem::Link& link = topology.links[i];
    consider(link.a, link.b, link.forward, bytes[i][0]);
    consider(link.b, link.a, link.backward, bytes[i][1]);
  }
  return slowest;
}

std::optional<ExchangePrediction> predict_exchange(const Run& run) {
  const auto pairwise = run.plan.at("pairwise_bytes_per_iteration").get<double>();
  const auto all = run.plan.at("sent_bytes_per_iteration").get<double>();
  return predict_exchange(run.topology, run.workers, {.around_ring = all - pairwise, .pairwise = pairwise},
                          run.tree());
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

Json describe_prediction(const Run& run, const Json& measured) {
  const auto exchange = predict_exchange(run);
  const double exchange_s = exchange ? exchange->time_s : 0;
  Json out = {{"exchange_time_s", exchange_s}, {"iteration_time_s", nullptr}};
  if (measured.is_null() || !run.schedule.empty()) return out;
  const auto part = [&measured](const char* name) { return measured.at(name).get<double>(); };
  out["iteration_time_s"] =
      predict_iteration_s(run.plan.at("bucket_bytes").get<std::vector<double>>(),
                          part("load") + part("compute"), part("encode") + exchange_s + part("decode"));
  return out;
}

}  // namespace thinpipe
