// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/prediction.hh"

#include <algorithm>
#include <numeric>
#include <utility>

namespace thinpipe {
namespace {

std::vector<GroupShift> planned_group_shifts(const Json& plan) {
  std::vector<GroupShift> out;
  for (const Json& shift : plan.value("group_shifts_per_iteration", Json::array())) {
    out.push_back({.workers = shift.at("workers").get<std::size_t>(),
                   .distance = shift.at("distance").get<std::size_t>(),
                   .bytes = shift.at("bytes").get<double>()});
  }
  return out;
}

SentBytes planned_bytes(const Run& run) {
  const auto part = [&run](const char* name) { return run.training->plan.value(name, 0.0); };
  SentBytes sent{.pairwise = part("pairwise_bytes_per_iteration"),
                 .codes = part("codes_per_iteration"),
                 .largest_code = run.training->plan.at("largest_code").get<std::int64_t>(),
                 .gathered = part("gathered_bytes_per_iteration"),
                 .broadcast = part("broadcast_bytes_per_iteration"),
                 .shifted = run.training->plan.value("shifted_bytes_per_iteration", std::vector<double>()),
                 .group_shifts = planned_group_shifts(run.training->plan)};
  sent.around_ring = run.training->plan.at("sent_bytes_per_iteration").get<double>() - sent.pairwise -
                     sent.gathered - sent.broadcast -
                     std::accumulate(sent.shifted.begin(), sent.shifted.end(), 0.0) -
                     bytes_around_ring(sent.codes, static_cast<std::size_t>(run.workers));
  for (const GroupShift& shift : sent.group_shifts) sent.around_ring -= shift.bytes;
  if (run.collective == "nccl") {  // its broadcasts and gathers go from rank to rank, its codes in bytes
    sent.shifted.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, run.workers - 1)));
    sent.shifted.front() += std::exchange(sent.broadcast, 0) + std::exchange(sent.gathered, 0);
    sent.around_ring +=
        bytes_around_ring(std::exchange(sent.codes, 0), static_cast<std::size_t>(run.workers));
  }
  return sent;
}

}  // namespace

std::optional<ExchangePrediction> predict_exchange(const Run& run) {
  if (run.external_trainer.method) return {};  // only an external trainer knows its traffic
  return predict_exchange(run.setting->topology, run.workers, planned_bytes(run), run.reduction_tree);
}

double sent_bytes_per_iteration(const Run& run) {
  const auto planned = run.training->plan.at("sent_bytes_per_iteration").get<double>();
  const SentBytes all = planned_bytes(run);
  if (run.reduction_tree.empty() || all.codes == 0) return planned;
  const auto workers = static_cast<std::size_t>(run.workers);
  const SentBytes codes{.codes = all.codes, .largest_code = all.largest_code};
  return planned - bytes_around_ring(codes.codes, workers) +
         mean_sent_bytes(workers, codes, run.reduction_tree);
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

double predict_iteration_s(const Json& plan, double compute_s, double exchange_s) {
  if (const auto overlap = plan.value("overlap_iterations", 0.0); overlap > 0) {
    const auto interval = plan.at("iterations_per_exchange").get<double>();
    return compute_s + std::max(0.0, exchange_s - overlap * compute_s / interval);
  }
  return predict_iteration_s(plan.at("bucket_bytes").get<std::vector<double>>(), compute_s, exchange_s);
}

std::optional<double> predict_exchange_s(const Run& run) {
  // A real network is unknown before it is measured.
  if (run.external_trainer.method || run.mode == Mode::cluster) return std::nullopt;
  const auto exchange = predict_exchange(run);
  return exchange ? exchange->time_s : 0;
}

std::optional<double> predict_iteration_s(const Run& run, const MeasuredWork& measured) {
  const auto exchange_s = predict_exchange_s(run);
  if (!exchange_s || !run.schedule.empty()) return std::nullopt;
  return predict_iteration_s(run.training->plan, measured.load_s + measured.compute_s,
                             measured.encode_s + *exchange_s + measured.decode_s);
}

}  // namespace thinpipe
