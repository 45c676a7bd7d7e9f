// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/enforcement.hh"

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "trainer/optimisers/state.hh"

namespace thinpipe::trainer {
namespace {

const torch::Tensor& parameter_of(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                                  const Mask::Layer& layer) {
  const torch::Tensor* parameter = parameters.find(layer.name);
  if (parameter == nullptr || parameter->sizes() != layer.keep.sizes()) {
    throw Error(fmt::format("the model has no parameter {} with {} weights, as in the mask", layer.name,
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
    const torch::Tensor pruned = layer.keep.logical_not().to(parameter.device());
    for (const torch::Tensor& buffer : state_tensors(optimiser, parameter, layer.name)) {
      buffer.masked_fill_(pruned, 0);
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
