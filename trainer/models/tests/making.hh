// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of models: shapes of data, and models created from JSON as users write it.
#pragma once

#include <string>
#include <vector>

#include "trainer/base/modules.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {

inline const DataShape kFashion{.channels = 1, .height = 28, .width = 28, .classes = 10};
inline const DataShape kCifar{.channels = 3, .height = 32, .width = 32, .classes = 10};
inline const DataShape kText{.classes = 11, .sequence_length = 8};

inline std::shared_ptr<Model> make(const Json& options, const DataShape& data = kFashion) {
  return ModelRegistry::instance().make(options, Place{"experiment.json", "/model"}, data);
}

// Returns the error message for a model that is rejected.
inline std::string refusal(const Json& options, const DataShape& data = kFashion) {
  try {
    make(options, data);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// Returns descriptions such as "conv1.weight [8, 1, 3, 3]", in order.
inline std::vector<std::string> describe(const torch::OrderedDict<std::string, torch::Tensor>& tensors) {
  std::vector<std::string> out;
  for (const auto& tensor : tensors) {
    std::string shape;
    for (const std::int64_t size : tensor.value().sizes()) {
      shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    }
    out.push_back(tensor.key() + " [" + shape + "]");
  }
  return out;
}

inline std::vector<std::string> parameters(const Model& model) {
  return describe(model.named_parameters());
}

inline std::int64_t count(const Model& model) {
  std::int64_t out = 0;
  for (const torch::Tensor& parameter : model.parameters()) out += parameter.numel();
  return out;
}

inline std::vector<double> dropouts(const Model& model) {
  std::vector<double> out;
  for (const auto& module : model.modules()) {
    if (const auto* dropout = module->as<torch::nn::Dropout>()) out.push_back(dropout->options.p());
  }
  return out;
}

inline torch::Tensor random_inputs(std::int64_t count, const DataShape& data) {
  return data.is_text() ? torch::randint(data.classes, {count, data.sequence_length})
                        : torch::randn({count, data.channels, data.height, data.width});
}

inline torch::Tensor random_labels(std::int64_t count, const DataShape& data) {
  return data.is_text() ? torch::randint(data.classes, {count, data.sequence_length})
                        : torch::randint(data.classes, {count});
}

// Moves every parameter off its initial value: zeros in a last layer keep gradients from the earlier layers.
inline void perturb(Model& model) {
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : model.parameters()) parameter.add_(torch::randn_like(parameter), 0.02);
}

}  // namespace thinpipe::trainer
