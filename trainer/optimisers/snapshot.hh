// SPDX-License-Identifier: Apache-2.0
// A copy of an optimiser's state, to restore later.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

class OptimiserSnapshot {
 public:
  // Copies the state of sgd, adam, adamw or muon; throws Error for another optimiser that has state.
  explicit OptimiserSnapshot(torch::optim::Optimizer& optimiser);
  // Copies only the state of these parameters.
  OptimiserSnapshot(torch::optim::Optimizer& optimiser, const std::vector<torch::Tensor>& parameters);

  // Gives the parameters of the snapshot their state at the time of the snapshot.
  void restore(torch::optim::Optimizer& optimiser) const;

 private:
  // The state is null before the parameter's first step.
  std::vector<std::pair<torch::Tensor, std::unique_ptr<torch::optim::OptimizerParamState>>> states_;
};

}  // namespace thinpipe::trainer
