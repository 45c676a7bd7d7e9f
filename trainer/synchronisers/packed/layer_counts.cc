// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/packed/layer_counts.hh"

#include <algorithm>
#include <utility>

#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

torch::Tensor no_counts(std::size_t parameters) {
  return torch::zeros({static_cast<std::int64_t>(parameters), LayerCounts::max_intervals}, torch::kLong);
}

}  // namespace

LayerCounts::LayerCounts(std::vector<ParameterInfo> parameters)
    : parameters_(std::move(parameters)),
      counts_(parameters_.size(), std::vector<std::int64_t>(max_intervals)),
      staged_(parameters_.size()) {}

void LayerCounts::stage(const Bucket& bucket, const std::vector<std::uint32_t>& indices) {
  auto begin = indices.begin();
  for (const Slice& slice : bucket.slices) {
    const auto end =
        std::lower_bound(begin, indices.end(), static_cast<std::uint64_t>(slice.offset + slice.size));
    staged_[slice.parameter] = end - begin;
    begin = end;
  }
}

void LayerCounts::commit() {
  if (steps_ == max_intervals * steps_per_interval_) join_neighbours();
  const auto interval = static_cast<std::size_t>(steps_ / steps_per_interval_);
  for (std::size_t p = 0; p < counts_.size(); ++p) counts_[p][interval] += staged_[p];
  ++steps_;
  discard();
}

void LayerCounts::discard() {
  staged_.assign(staged_.size(), 0);
}

void LayerCounts::join_neighbours() {
  for (std::vector<std::int64_t>& counts : counts_) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = 2 * i < counts.size() ? counts[2 * i] + counts[2 * i + 1] : 0;
    }
  }
  steps_per_interval_ *= 2;
}

Json LayerCounts::state() const {
  Json layers = Json::array();
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (parameters_[p].dimensions <= 1) continue;
    const std::vector<std::int64_t> counts(counts_[p].begin(), counts_[p].begin() + intervals());
    layers.push_back(
        {{"name", parameters_[p].name}, {"weights", parameters_[p].size}, {"exchanged", counts}});
  }
  return {{"steps", steps_}, {"steps_per_interval", steps_per_interval_}, {"layers", layers}};
}

void LayerCounts::save(TensorMap& state, const std::string& prefix) const {
  torch::Tensor counts = no_counts(counts_.size());
  for (std::size_t p = 0; p < counts_.size(); ++p) {
    std::ranges::copy(counts_[p], elements<std::int64_t>(counts[static_cast<std::int64_t>(p)]).begin());
  }
  state[prefix + "layer_counts"] = counts;
  state[prefix + "layer_counts.steps"] = torch::tensor({steps_, steps_per_interval_}, torch::kLong);
}

void LayerCounts::load(const TensorMap& state, const std::string& prefix) {
  const torch::Tensor counts =
      expect_tensor(state, prefix + "layer_counts", no_counts(counts_.size()), "checkpoint").contiguous();
  const torch::Tensor steps =
      expect_tensor(state, prefix + "layer_counts.steps", torch::empty({2}, torch::kLong), "checkpoint");
  for (std::size_t p = 0; p < counts_.size(); ++p) {
    std::ranges::copy(elements<std::int64_t>(counts[static_cast<std::int64_t>(p)]), counts_[p].begin());
  }
  steps_ = steps[0].item<std::int64_t>();
  steps_per_interval_ = steps[1].item<std::int64_t>();
}

}  // namespace thinpipe::trainer
