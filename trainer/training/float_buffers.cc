// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/float_buffers.hh"

#include <algorithm>

namespace thinpipe::trainer {

FloatBuffers::FloatBuffers(const torch::nn::Module& model) {
  for (const torch::Tensor& buffer : model.buffers()) {
    if (buffer.is_floating_point()) buffers_.push_back(buffer);
  }
}

std::vector<torch::Tensor> FloatBuffers::copy() const {
  std::vector<torch::Tensor> copy;
  for (const torch::Tensor& buffer : buffers_) copy.push_back(buffer.detach().clone());
  return copy;
}

void FloatBuffers::restore(const std::vector<torch::Tensor>& copy) const {
  const torch::NoGradGuard no_grad;
  for (std::size_t b = 0; b < buffers_.size(); ++b) buffers_[b].copy_(copy[b]);
}

bool FloatBuffers::are_finite() const {
  return std::ranges::all_of(
      buffers_, [](const torch::Tensor& buffer) { return buffer.isfinite().all().item<bool>(); });
}

}  // namespace thinpipe::trainer
