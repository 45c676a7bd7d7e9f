// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/models/foreign_module.hh"

namespace thinpipe::trainer {

// Returns whether the module normalises by the statistics of a batch in training, and by running ones in evaluations.
inline bool normalises_batches(const torch::nn::Module& module) {
  const auto* const foreign = module.as<ForeignModule>();
  if (foreign != nullptr) return foreign->kind() == ForeignModule::Kind::batch_normalisation;
  return module.as<torch::nn::BatchNorm1d>() != nullptr || module.as<torch::nn::BatchNorm2d>() != nullptr ||
         module.as<torch::nn::BatchNorm3d>() != nullptr;
}

}  // namespace thinpipe::trainer
