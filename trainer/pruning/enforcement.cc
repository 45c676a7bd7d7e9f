#include "trainer/pruning/enforcement.hh"

#include <sstream>

#include <fmt/format.h>

#include "harness/support/exception.hh"

namespace thinpipe::trainer {
namespace {

// What an optimiser keeps its state of a parameter under: the address of the parameter's implementation,
// which LibTorch 1 spells out as text.
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

torch::optim::OptimizerParamState* find_state(torch::optim::Optimizer& optimiser,
                                              const torch::Tensor& parameter) {
  auto& states = optimiser.state();
  using Key = std::remove_cvref_t<decltype(states.begin()->first)>;
  const auto found = states.find(state_key<Key>(parameter));
  return found == states.end() ? nullptr : found->second.get();
}

// Every tensor of a parameter's state that has an entry per weight.
std::vector<torch::Tensor> buffers(torch::optim::OptimizerParamState& state, const std::string& parameter) {
  if (auto* sgd = dynamic_cast<torch::optim::SGDParamState*>(&state)) return {sgd->momentum_buffer()};
  if (auto* adam = dynamic_cast<torch::optim::AdamParamState*>(&state)) {
    return {adam->exp_avg(), adam->exp_avg_sq(), adam->max_exp_avg_sq()};
  }
  if (auto* adamw = dynamic_cast<torch::optim::AdamWParamState*>(&state)) {
    return {adamw->exp_avg(), adamw->exp_avg_sq(), adamw->max_exp_avg_sq()};
  }
  throw Error(
      fmt::format("prune during training: what the optimiser remembers of {} is not known, so it cannot be "
                  "zeroed; take sgd, adam or adamw, or prune before the first step",
                  parameter));
}

const torch::Tensor& parameter_of(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                                  const Mask::Layer& layer) {
  const torch::Tensor* parameter = parameters.find(layer.name);
  if (parameter == nullptr || parameter->sizes() != layer.keep.sizes()) {
    throw Error(fmt::format("the model has no parameter {} of {} weights, as the mask has", layer.name,
                            layer.weights()));
  }
  return *parameter;
}

}  // namespace

void enforce(const Mask& mask, torch::nn::Module& model, torch::optim::Optimizer& optimiser) {
  mask.apply(model);
  const torch::NoGradGuard no_grad;
  const auto parameters = model.named_parameters();
  for (const Mask::Layer& layer : mask.layers()) {
    const torch::Tensor& parameter = parameter_of(parameters, layer);
    torch::optim::OptimizerParamState* const state = find_state(optimiser, parameter);
    if (state == nullptr) continue;
    const torch::Tensor pruned = layer.keep.logical_not().to(parameter.device());
    for (torch::Tensor& buffer : buffers(*state, layer.name)) {
      if (buffer.defined()) buffer.masked_fill_(pruned, 0);
    }
  }
}

void check_pruned_weights_are_zero(const Mask& mask, const torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  const auto parameters = model.named_parameters();
  for (const Mask::Layer& layer : mask.layers()) {
    const torch::Tensor& weight = parameter_of(parameters, layer);
    const auto astray =
        weight.ne(0).logical_and_(layer.keep.logical_not().to(weight.device())).sum().item<std::int64_t>();
    if (astray > 0) {
      throw Error(fmt::format("{} of the {} pruned weights of {} are no longer zero", astray,
                              layer.weights() - layer.kept(), layer.name));
    }
  }
}

}  // namespace thinpipe::trainer
