#include "trainer/weights.hh"

#include <fmt/format.h>

#include "harness/support/exception.hh"

namespace thinpipe::trainer {

TensorMap weights_of(const torch::nn::Module& model, const std::string& prefix) {
  TensorMap weights;
  for (const auto& item : model.named_parameters()) weights[prefix + item.key()] = item.value();
  for (const auto& item : model.named_buffers()) weights[prefix + item.key()] = item.value();
  return weights;
}

void load_weights(torch::nn::Module& model, const TensorMap& tensors, const std::string& source,
                  const std::string& prefix) {
  const torch::NoGradGuard no_grad;
  TensorMap weights = weights_of(model, prefix);
  for (auto& [name, tensor] : weights) tensor.copy_(expect_tensor(tensors, name, tensor, source));
  if (!prefix.empty()) return;
  for (const auto& [name, unused] : tensors) {
    if (!weights.contains(name)) {
      throw Error(fmt::format("{} has a tensor \"{}\" that the model does not have", source, name));
    }
  }
}

}  // namespace thinpipe::trainer
