// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimisers/state.hh"

#include <sstream>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

// Returns the key of a parameter's state in an optimiser: the address of the parameter's implementation,
// which LibTorch 1 writes as text.
template <class Key>
Key state_key(const torch::Tensor& parameter) {
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}

std::vector<torch::Tensor> defined_ones(std::vector<torch::Tensor> tensors) {
  std::erase_if(tensors, [](const torch::Tensor& tensor) { return !tensor.defined(); });
  return tensors;
}

}  // namespace

torch::optim::OptimizerParamState* find_state(torch::optim::Optimizer& optimiser,
                                              const torch::Tensor& parameter) {
  auto& states = optimiser.state();
  using Key = std::remove_cvref_t<decltype(states.begin()->first)>;
  const auto found = states.find(state_key<Key>(parameter));
  return found == states.end() ? nullptr : found->second.get();
}

void forget_state(torch::optim::Optimizer& optimiser, const torch::Tensor& parameter) {
  auto& states = optimiser.state();
  using Key = std::remove_cvref_t<decltype(states.begin()->first)>;
  states.erase(state_key<Key>(parameter));
}

std::unique_ptr<torch::optim::OptimizerParamState>& state_of(torch::optim::Optimizer& optimiser,
                                                             const torch::Tensor& parameter) {
  auto& states = optimiser.state();
  using Key = std::remove_cvref_t<decltype(states.begin()->first)>;
  return states[state_key<Key>(parameter)];
}

std::vector<torch::Tensor> state_tensors(torch::optim::Optimizer& optimiser, const torch::Tensor& parameter,
                                         const std::string& name) {
  auto* const state = find_state(optimiser, parameter);
  if (state == nullptr) return {};
  if (auto* sgd = dynamic_cast<torch::optim::SGDParamState*>(state)) {
    return defined_ones({sgd->momentum_buffer()});
  }
  if (auto* adam = dynamic_cast<torch::optim::AdamParamState*>(state)) {
    return defined_ones({adam->exp_avg(), adam->exp_avg_sq(), adam->max_exp_avg_sq()});
  }
  if (auto* adamw = dynamic_cast<torch::optim::AdamWParamState*>(state)) {
    return defined_ones({adamw->exp_avg(), adamw->exp_avg_sq(), adamw->max_exp_avg_sq()});
  }
  throw Error(
      fmt::format("prune during training: this optimiser's state of {} is unknown and cannot be zeroed; use "
                  "sgd, adam or adamw, or prune before the first step",
                  name));
}

torch::Tensor momentum_of(torch::optim::Optimizer& optimiser, const torch::Tensor& parameter) {
  auto* const state = find_state(optimiser, parameter);
  if (auto* sgd = dynamic_cast<torch::optim::SGDParamState*>(state)) return sgd->momentum_buffer();
  if (auto* adam = dynamic_cast<torch::optim::AdamParamState*>(state)) return adam->exp_avg();
  if (auto* adamw = dynamic_cast<torch::optim::AdamWParamState*>(state)) return adamw->exp_avg();
  return {};
}

}  // namespace thinpipe::trainer
