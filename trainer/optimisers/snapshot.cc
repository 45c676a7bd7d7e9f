// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimisers/snapshot.hh"

#include "common/support/exception.hh"
#include "trainer/optimisers/state.hh"

namespace thinpipe::trainer {
namespace {

torch::Tensor copy_of(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.clone() : tensor;
}

template <class State>
std::unique_ptr<State> copy_of_adam(const State& state) {
  auto copy = std::make_unique<State>(state);
  copy->exp_avg(copy_of(state.exp_avg()));
  copy->exp_avg_sq(copy_of(state.exp_avg_sq()));
  copy->max_exp_avg_sq(copy_of(state.max_exp_avg_sq()));
  return copy;
}

// Returns a deep copy.
std::unique_ptr<torch::optim::OptimizerParamState> copy_of(const torch::optim::OptimizerParamState& state) {
  if (const auto* sgd = dynamic_cast<const torch::optim::SGDParamState*>(&state)) {
    auto copy = std::make_unique<torch::optim::SGDParamState>(*sgd);
    copy->momentum_buffer(copy_of(sgd->momentum_buffer()));
    return copy;
  }
  if (const auto* adam = dynamic_cast<const torch::optim::AdamParamState*>(&state))
    return copy_of_adam(*adam);
  if (const auto* adamw = dynamic_cast<const torch::optim::AdamWParamState*>(&state))
    return copy_of_adam(*adamw);
  throw Error("take local steps: this optimiser's state is unknown; use sgd, adam, adamw or muon");
}

std::vector<torch::Tensor> parameters_of(torch::optim::Optimizer& optimiser) {
  std::vector<torch::Tensor> all;
  for (auto& group : optimiser.param_groups())
    all.insert(all.end(), group.params().begin(), group.params().end());
  return all;
}

}  // namespace

OptimiserSnapshot::OptimiserSnapshot(torch::optim::Optimizer& optimiser)
    : OptimiserSnapshot(optimiser, parameters_of(optimiser)) {}

OptimiserSnapshot::OptimiserSnapshot(torch::optim::Optimizer& optimiser,
                                     const std::vector<torch::Tensor>& parameters) {
  const torch::NoGradGuard no_grad;
  for (const torch::Tensor& parameter : parameters) {
    const auto* state = find_state(optimiser, parameter);
    states_.emplace_back(parameter, state == nullptr ? nullptr : copy_of(*state));
  }
}

void OptimiserSnapshot::restore(torch::optim::Optimizer& optimiser) const {
  const torch::NoGradGuard no_grad;
  for (const auto& [parameter, state] : states_) {
    if (state) {
      state_of(optimiser, parameter) = copy_of(*state);
    } else {
      forget_state(optimiser, parameter);
    }
  }
}

}  // namespace thinpipe::trainer
