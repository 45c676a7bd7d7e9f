// SPDX-License-Identifier: Apache-2.0
// Convolutions and linear layers that do not compute filters of which pruning has removed every weight.
// A filter is a row of the weight: the weights of one output.
#pragma once

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

// The part that both share. Models use these layers where whole filters may be pruned; the criterion `filters`
// leaves LibTorch's own layers whole.
class FilteredLayer {
 public:
  // Computes all filters if fewer than this share of them are left out.
  explicit FilteredLayer(double min_skipped_share) : min_skipped_share_(min_skipped_share) {}
  virtual ~FilteredLayer() = default;
  FilteredLayer(const FilteredLayer&) = default;
  FilteredLayer& operator=(const FilteredLayer&) = default;
  FilteredLayer(FilteredLayer&&) = default;
  FilteredLayer& operator=(FilteredLayer&&) = default;

  // Sets the filters to compute from the next forward pass on: bool [filters], undefined for all. The weights
  // of the others must be zero; they get a gradient of zero. Their outputs are the bias, or zero without one.
  // All filters are computed if none is left, or if so few are left out that selecting the others would cost more.
  void compute_only(const torch::Tensor& kept);

  // Returns what compute_only() was last given.
  const torch::Tensor& computed() const { return kept_; }

 protected:
  bool skips() const { return indices_.defined(); }

  // Returns the computed rows of the weight.
  torch::Tensor select(const torch::Tensor& weight);

  // Returns the output of all filters from that of the computed ones along dimension `dim`, without bias.
  torch::Tensor spread(const torch::Tensor& computed, std::int64_t dim) const;

 private:
  double min_skipped_share_;
  // No parameters or buffers, because they follow from the mask, which a checkpoint contains.
  torch::Tensor kept_;
  torch::Tensor indices_;  // int64, ascending; undefined if all filters are computed
};

// Both have the parameters of LibTorch's layer, and its bits unless filters are skipped. They hide its forward, so a
// model must hold them by these types.
class FilteredConv2dImpl : public torch::nn::Conv2dImpl, public FilteredLayer {
 public:
  // Without groups, and padded with zeros.
  explicit FilteredConv2dImpl(const torch::nn::Conv2dOptions& options);

  torch::Tensor forward(const torch::Tensor& x);
};
TORCH_MODULE(FilteredConv2d);

class FilteredLinearImpl : public torch::nn::LinearImpl, public FilteredLayer {
 public:
  FilteredLinearImpl(std::int64_t in, std::int64_t out);

  torch::Tensor forward(const torch::Tensor& x);
};
TORCH_MODULE(FilteredLinear);

}  // namespace thinpipe::trainer
