#include "trainer/optimisers/snapshot.hh"

#include "common/support/exception.hh"

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
  throw Error("take local steps: this optimiser's state is unknown; use sgd, adam or adamw");
}

}  // namespace

OptimiserSnapshot::OptimiserSnapshot(torch::optim::Optimizer& optimiser) {
  const torch::NoGradGuard no_grad;
  for (const auto& [key, state] : optimiser.state()) states_.emplace_back(key, copy_of(*state));
}

void OptimiserSnapshot::restore(torch::optim::Optimizer& optimiser) const {
  const torch::NoGradGuard no_grad;
  optimiser.state().clear();
  for (const auto& [key, state] : states_) optimiser.state()[key] = copy_of(*state);
}

}  // namespace thinpipe::trainer
