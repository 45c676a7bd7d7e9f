// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/loss.hh"

namespace thinpipe::trainer {
namespace {

namespace nn = torch::nn::functional;

torch::Tensor flat(const torch::Tensor& logits) {
  return logits.flatten(0, -2);
}

}  // namespace

torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels, double smoothing) {
  return nn::cross_entropy(flat(logits), labels.flatten(),
                           nn::CrossEntropyFuncOptions().label_smoothing(smoothing));
}

torch::Tensor summed_cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels) {
  return nn::cross_entropy(flat(logits), labels.flatten(),
                           nn::CrossEntropyFuncOptions().reduction(torch::kSum));
}

}  // namespace thinpipe::trainer
