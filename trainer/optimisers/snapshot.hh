// A copy of an optimiser's state, to restore later.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

class OptimiserSnapshot {
 public:
  // Copies the state of sgd, adam or adamw; throws Error for another optimiser that has state.
  explicit OptimiserSnapshot(torch::optim::Optimizer& optimiser);

  void restore(torch::optim::Optimizer& optimiser) const;

 private:
  using States = std::remove_reference_t<decltype(std::declval<torch::optim::Optimizer&>().state())>;
  using Key = std::remove_cvref_t<decltype(std::declval<States&>().begin()->first)>;

  std::vector<std::pair<Key, std::unique_ptr<torch::optim::OptimizerParamState>>> states_;
};

}  // namespace thinpipe::trainer
