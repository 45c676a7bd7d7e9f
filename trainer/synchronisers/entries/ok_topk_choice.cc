// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/entries/ok_topk_choice.hh"

#include <algorithm>

#include <fmt/format.h>

#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/sparse/threshold_choice.hh"

namespace thinpipe::trainer {
namespace {

// The factors by which thresholds follow drifting counts.
constexpr float own_adjustment = 1.012F;
constexpr float sum_adjustment = 1.008F;

}  // namespace

std::vector<std::uint32_t> OkTopkChoice::choose_own(std::span<const float> values, std::int64_t k,
                                                    bool estimates) {
  if (!estimates) {
    std::vector<std::uint32_t> indices = indices_above(values, own_threshold);
    const std::int64_t count = std::ssize(indices);
    if (count <= largest_count(k)) {
      if (4 * count > 5 * k) own_threshold *= own_adjustment;
      if (3 * count < 2 * k) own_threshold /= own_adjustment;
      return indices;
    }
  }
  LargestEntries largest = choose_largest(values, k);
  own_threshold = largest.threshold;
  return std::move(largest.indices);
}

void OkTopkChoice::divide_anew(std::span<const std::uint32_t> own, std::int64_t n, Collective& network) {
  const int workers = network.world_size();
  boundaries = balanced_boundaries(own, n, workers);
  const auto inner = std::span(boundaries).subspan(1, static_cast<std::size_t>(workers - 1));
  const torch::Tensor sums = torch::empty({workers - 1}, torch::kLong);
  std::ranges::copy(inner, elements<std::int64_t>(sums).begin());
  network.all_reduce(sums, Reduction::sum);
  std::ranges::transform(elements<std::int64_t>(sums), inner.begin(),
                         [&](std::int64_t sum) { return sum / workers; });
  if (!std::ranges::is_sorted(boundaries)) {
    throw CollectiveError(
        fmt::format("regions of {} entries have the boundaries {}", n, fmt::join(boundaries, ", ")));
  }
}

std::vector<SparseEntry> OkTopkChoice::choose_of_region(std::span<const float> sums, std::int64_t k,
                                                        bool estimates, int rank) const {
  // The overall k largest are among the k largest of each region.
  std::vector<std::uint32_t> chosen =
      estimates ? choose_largest(sums, k).indices : indices_above(sums, sum_threshold);
  if (std::ssize(chosen) > largest_count(k)) chosen = choose_largest(sums, largest_count(k)).indices;
  const auto begin = static_cast<std::uint32_t>(boundaries[static_cast<std::size_t>(rank)]);
  std::vector<SparseEntry> entries;
  entries.reserve(chosen.size());
  for (const std::uint32_t i : chosen) entries.push_back({begin + i, sums[i]});
  return entries;
}

std::vector<SparseEntry> OkTopkChoice::choose_of_all(std::vector<SparseEntry> gathered, std::int64_t k,
                                                     bool estimates) {
  const std::int64_t count = std::ssize(gathered);
  if (!estimates && count <= largest_count(k)) {
    if (3 * count < 2 * k) sum_threshold /= sum_adjustment;
    return gathered;
  }
  std::vector<float> values;
  values.reserve(gathered.size());
  for (const SparseEntry& entry : gathered) values.push_back(entry.value);
  const LargestEntries largest = choose_largest(values, k);
  sum_threshold = largest.threshold;
  if (!estimates) return gathered;
  std::vector<SparseEntry> chosen;
  chosen.reserve(largest.indices.size());
  for (const std::uint32_t i : largest.indices) chosen.push_back(gathered[i]);
  return chosen;
}

void save_ok_topk_choice(const OkTopkChoice& choice, TensorMap& state, const std::string& prefix) {
  state[prefix + "age"] = torch::tensor({choice.age}, torch::kLong);
  state[prefix + "latest_k"] = torch::tensor({choice.latest_k}, torch::kLong);
  state[prefix + "thresholds"] = torch::tensor({choice.own_threshold, choice.sum_threshold});
  state[prefix + "boundaries"] = torch::tensor(choice.boundaries, torch::kLong);
}

OkTopkChoice load_ok_topk_choice(const TensorMap& state, const std::string& prefix, std::int64_t n) {
  const auto saved = state.find(prefix + "boundaries");
  if (saved == state.end()) return {};
  const torch::Tensor& boundaries = saved->second;
  if (boundaries.scalar_type() != torch::kLong || boundaries.dim() != 1 || boundaries.numel() < 2) {
    throw Error(fmt::format("checkpoint: {}boundaries must be Long of one dimension, but are {}", prefix,
                            describe_tensor(boundaries)));
  }
  const torch::Tensor contiguous = boundaries.contiguous();
  const std::span<const std::int64_t> all = elements<std::int64_t>(contiguous);
  if (all.front() != 0 || !std::ranges::is_sorted(all)) {
    throw Error(fmt::format("checkpoint: {}boundaries must ascend from 0", prefix));
  }
  if (all.back() != n) return {};
  const torch::Tensor number = torch::empty({1}, torch::kLong);
  const torch::Tensor age = expect_tensor(state, prefix + "age", number, "checkpoint");
  const torch::Tensor latest_k = expect_tensor(state, prefix + "latest_k", number, "checkpoint");
  const torch::Tensor thresholds =
      expect_tensor(state, prefix + "thresholds", torch::empty({2}), "checkpoint");
  return {.age = age.item<std::int64_t>(),
          .latest_k = latest_k.item<std::int64_t>(),
          .own_threshold = thresholds[0].item<float>(),
          .sum_threshold = thresholds[1].item<float>(),
          .boundaries = {all.begin(), all.end()}};
}

}  // namespace thinpipe::trainer
