// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/layers/filtered_layers.hh"

namespace thinpipe::trainer {
namespace {

// The least share of filters whose computation costs more than selecting the others' weights and spreading their
// outputs: trainer/benchmarks/pruned_filters_benchmark.cc. A convolution uses each weight at many positions.
constexpr double kMinSkippedShareOfConvolution = 0.125;
constexpr double kMinSkippedShareOfLinear = 0.25;

}  // namespace

void FilteredLayer::compute_only(const torch::Tensor& kept) {
  kept_ = kept;
  indices_ = torch::Tensor();
  if (!kept.defined()) return;
  const torch::Tensor indices = kept.nonzero().flatten();
  const auto skipped = static_cast<double>(kept.numel() - indices.numel());
  const bool pays = skipped > 0 && skipped >= min_skipped_share_ * static_cast<double>(kept.numel());
  if (pays && indices.numel() > 0) indices_ = indices;  // LibTorch has no convolutions without filters
}

torch::Tensor FilteredLayer::select(const torch::Tensor& weight) {
  indices_ = indices_.to(weight.device());  // once: the model may have moved since
  return weight.index_select(0, indices_);
}

torch::Tensor FilteredLayer::spread(const torch::Tensor& computed, std::int64_t dim) const {
  std::vector<std::int64_t> sizes = computed.sizes().vec();
  sizes.at(static_cast<std::size_t>(dim)) = kept_.numel();
  return computed.new_zeros(sizes).index_copy(dim, indices_, computed);
}

FilteredConv2dImpl::FilteredConv2dImpl(const torch::nn::Conv2dOptions& options)
    : torch::nn::Conv2dImpl(options), FilteredLayer(kMinSkippedShareOfConvolution) {
  // LibTorch's versions differ in the type of this variant; the default is zeros.
  const auto zeros = torch::nn::Conv2dOptions(1, 1, 1).padding_mode().index();
  TORCH_CHECK(options.groups() == 1 && options.padding_mode().index() == zeros,
              "a filtered convolution has no groups and is padded with zeros");
}

torch::Tensor FilteredConv2dImpl::forward(const torch::Tensor& x) {
  if (!skips()) return torch::nn::Conv2dImpl::forward(x);
  const auto how = torch::nn::functional::Conv2dFuncOptions()
                       .stride(options.stride())
                       .padding(options.padding())
                       .dilation(options.dilation());
  torch::Tensor out = spread(torch::nn::functional::conv2d(x, select(weight), how), 1);
  return bias.defined() ? out.add_(bias.view({-1, 1, 1})) : out;
}

FilteredLinearImpl::FilteredLinearImpl(std::int64_t in, std::int64_t out)
    : torch::nn::LinearImpl(in, out), FilteredLayer(kMinSkippedShareOfLinear) {}

torch::Tensor FilteredLinearImpl::forward(const torch::Tensor& x) {
  if (!skips()) return torch::nn::LinearImpl::forward(x);
  torch::Tensor out = spread(torch::linear(x, select(weight)), x.dim() - 1);
  return bias.defined() ? out.add_(bias) : out;
}

}  // namespace thinpipe::trainer
