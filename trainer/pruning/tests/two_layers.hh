// SPDX-License-Identifier: Apache-2.0
// A model with weights given by a test, and its mask as text.
#pragma once

#include <string>

#include "trainer/base/modules.hh"
#include "trainer/models/model.hh"
#include "trainer/pruning/mask.hh"

namespace thinpipe::trainer::testing {

// Two linear layers with given weights: fc1.weight [1, n] and fc2.weight [1, m].
class TwoLayers : public Model {
 public:
  TwoLayers(const std::vector<float>& first, const std::vector<float>& second) {
    add("fc1", first);
    add("fc2", second);
  }

  torch::Tensor forward(const torch::Tensor& images) override { return images; }
  std::string head() const override { return "fc2"; }

 private:
  void add(const std::string& name, const std::vector<float>& weights) {
    const auto layer = register_module(name, torch::nn::Linear(static_cast<std::int64_t>(weights.size()), 1));
    const torch::NoGradGuard no_grad;
    layer->weight.copy_(torch::tensor(weights).view({1, -1}));
  }
};

// Returns 1 for each kept weight and 0 for each pruned one, with a space between layers: "011 010".
inline std::string bits_of(const Mask& mask) {
  std::string out;
  for (const Mask::Layer& layer : mask.layers()) {
    if (!out.empty()) out += ' ';
    const torch::Tensor keep = layer.keep.contiguous();
    for (std::int64_t i = 0; i < layer.weights(); ++i) out += keep.data_ptr<bool>()[i] ? '1' : '0';
  }
  return out;
}

inline std::unique_ptr<Dataset> synthetic(Json options = Json::object()) {
  options["name"] = "synthetic";
  if (!options.contains("train_examples")) options["train_examples"] = 1;
  options["test_examples"] = 1;
  return DatasetRegistry::instance().make(options, Place{"test", ""}, Files::read);
}

}  // namespace thinpipe::trainer::testing
