// SPDX-License-Identifier: Apache-2.0
// Options that Adam and AdamW share: all except weight decay.
#pragma once

#include "common/support/options.hh"

namespace thinpipe::trainer {

struct AdamMoments {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;

  void visit(auto& field) {
    field("learning_rate", learning_rate, Rule{.effect = "step size", .above = 0});
    field("beta1", beta1, Rule{.effect = "decay of the mean gradient", .at_least = 0, .below = 1});
    field("beta2", beta2, Rule{.effect = "decay of the mean squared gradient", .at_least = 0, .below = 1});
    field("epsilon", epsilon, Rule{.effect = "added to the root of the mean squared gradient", .above = 0});
  }
};

}  // namespace thinpipe::trainer
