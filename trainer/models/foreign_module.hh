// SPDX-License-Identifier: Apache-2.0
// A module whose forward pass runs in another language: a part of a Python model. Pruning treats it like
// LibTorch's own module of its kind.
#pragma once

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

class ForeignModule : public torch::nn::Module {
 public:
  enum class Kind { linear_or_convolution, attention, batch_normalisation, other };

  explicit ForeignModule(Kind kind) : kind_(kind) {}

  Kind kind() const { return kind_; }

  // The name of the parameter that pruning may prune; nullptr if there is none.
  const char* prunable() const {
    if (kind_ == Kind::linear_or_convolution) return "weight";
    return kind_ == Kind::attention ? "in_proj_weight" : nullptr;
  }

  // The parameter that pruning may prune, if there is one. Pruning criteria may replace it for a while; the
  // forward pass must use what is here.
  torch::Tensor weight;

 private:
  Kind kind_;
};

}  // namespace thinpipe::trainer
