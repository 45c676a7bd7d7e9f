// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/shifted_weights.hh"

namespace thinpipe::trainer {

ShiftedWeights::ShiftedWeights(const std::vector<torch::Tensor>& parameters, const Synchroniser& method) {
  if (!method.shifts_evaluation()) return;
  const torch::NoGradGuard no_grad;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    shifted_.push_back({.weights = parameters[p], .original = parameters[p].clone()});
    parameters[p].add_(method.evaluation_shift(p).view(parameters[p].sizes()).to(parameters[p].device()));
  }
}

ShiftedWeights::~ShiftedWeights() {
  const torch::NoGradGuard no_grad;
  for (const Shifted& each : shifted_) each.weights.copy_(each.original);
}

}  // namespace thinpipe::trainer
