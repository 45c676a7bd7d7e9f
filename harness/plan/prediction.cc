#include "harness/plan/prediction.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "common/protocol/call.hh"
#include "netem/topology/frame.hh"
#include "netem/topology/routes.hh"
#include "netem/topology/worker_tree.hh"

namespace thinpipe {

namespace {

// What goes once around a ring in an all-reduce of so many bytes, from each worker.
double around_ring(double bytes, std::size_t workers) {
  return 2 * bytes * static_cast<double>(workers - 1) / static_cast<double>(workers);
}

// What workers send each other.
class BytesBetween {
 public:
  BytesBetween(std::size_t workers, const SentBytes& sent, const std::vector<int>& parents)
      : workers_(workers), sent_(sent), parents_(parents), below_(netem::workers_below(parents)) {}

  double operator()(std::size_t from, std::size_t to) const {
    const auto others = static_cast<double>(workers_ - 1);
    const std::size_t distance = (to + workers_ - from) % workers_;
    double bytes = sent_.pairwise / others;
    if (distance <= sent_.shifted.size()) bytes += sent_.shifted[distance - 1];
    return bytes + (parents_.empty() ? without_tree(distance) : along_tree(from, to));
  }

 private:
  double without_tree(std::size_t distance) const {
    double bytes = 0;
    if (distance == 1) bytes += sent_.around_ring + sent_.gathered + around_ring(sent_.codes, workers_);
    // Of N-1 messages, counted from a broadcast's root, workers v < 2^i send one to v + 2^i, if that exists.
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
    // All-reduces go over N-1 edges, over each in both directions; what is gathered or broadcast goes over
    // each once, away from whose it is.
    return sent_.around_ring * static_cast<double>(workers_) / (2 * others) +
           (sent_.gathered + sent_.broadcast) * static_cast<double>(behind) / others +
           sent_.codes * bits_of_code_sum(behind, sent_.largest_code) / 8;
  }

  std::size_t workers_;
  const SentBytes& sent_;
  const std::vector<int>& parents_;
  std::vector<std::int64_t> below_;
};

// Bytes that cross each link, forward and backward.
std::vector<std::array<double, 2>> crossing_bytes(const netem::Topology& topology, std::size_t workers,
                                                  const SentBytes& sent, const std::vector<int>& parents) {
  const netem::Routes routes(topology);
  const BytesBetween bytes_between(workers, sent, parents);
  std::vector<std::array<double, 2>> bytes(topology.links.size());
  for (std::size_t from = 0; from < workers; ++from) {
    for (std::size_t to = 0; to < workers; ++to) {
      if (from == to) continue;
      const double between = bytes_between(from, to);
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

namespace {

SentBytes planned_bytes(const Run& run) {
  const auto part = [&run](const char* name) { return run.plan.value(name, 0.0); };
  SentBytes sent{.pairwise = part("pairwise_bytes_per_iteration"),
                 .codes = part("codes_per_iteration"),
                 .largest_code = run.plan.at("largest_code").get<std::int64_t>(),
                 .gathered = part("gathered_bytes_per_iteration"),
                 .broadcast = part("broadcast_bytes_per_iteration"),
                 .shifted = run.plan.value("shifted_bytes_per_iteration", std::vector<double>())};
  sent.around_ring = run.plan.at("sent_bytes_per_iteration").get<double>() - sent.pairwise - sent.gathered -
                     sent.broadcast - std::accumulate(sent.shifted.begin(), sent.shifted.end(), 0.0) -
                     around_ring(sent.codes, static_cast<std::size_t>(run.workers));
  if (run.collective() == "nccl") {  // whose broadcasts and gathers go from rank to rank
    sent.shifted.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, run.workers - 1)));
    sent.shifted.front() += std::exchange(sent.broadcast, 0) + std::exchange(sent.gathered, 0);
  }
  return sent;
}

}  // namespace

std::optional<ExchangePrediction> predict_exchange(const Run& run) {
  if (run.other_trainer.method) return {};  // what it sends, only its trainer knows
  return predict_exchange(run.topology, run.workers, planned_bytes(run), run.tree());
}

double sent_bytes_per_iteration(const Run& run) {
  const auto planned = run.plan.at("sent_bytes_per_iteration").get<double>();
  const std::vector<int> parents = run.tree();
  const SentBytes all = planned_bytes(run);
  if (parents.empty() || all.codes == 0) return planned;
  const auto workers = static_cast<std::size_t>(run.workers);
  const SentBytes codes{.codes = all.codes, .largest_code = all.largest_code};
  const BytesBetween bytes_between(workers, codes, parents);
  double along_tree = 0;
  for (std::size_t from = 0; from < workers; ++from) {
    for (std::size_t to = 0; to < workers; ++to) {
      if (from != to) along_tree += bytes_between(from, to);
    }
  }
  return planned - around_ring(codes.codes, workers) + along_tree / static_cast<double>(workers);
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
  if (run.other_trainer.method) out["exchange_time_s"] = nullptr;
  if (run.other_trainer.method || measured.is_null() || !run.schedule.empty()) return out;
  for (const char* needed : {"load", "compute", "encode", "decode"}) {
    if (measured.at(needed).is_null()) return out;  // another's trainer does not tell
  }
  const auto part = [&measured](const char* name) { return measured.at(name).get<double>(); };
  out["iteration_time_s"] =
      predict_iteration_s(run.plan.at("bucket_bytes").get<std::vector<double>>(),
                          part("load") + part("compute"), part("encode") + exchange_s + part("decode"));
  return out;
}

}  // namespace thinpipe
