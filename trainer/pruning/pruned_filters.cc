// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/pruned_filters.hh"

#include "trainer/models/layers/filtered_layers.hh"

namespace thinpipe::trainer {

void skip_pruned_filters(const Mask& mask, torch::nn::Module& model) {
  std::map<std::string, torch::Tensor> keep;  // by parameter
  for (const Mask::Layer& layer : mask.layers()) keep[layer.name] = layer.keep;
  model.apply([&keep](const std::string& name, torch::nn::Module& module) {
    auto* const filtered = dynamic_cast<FilteredLayer*>(&module);
    if (filtered == nullptr) return;
    const auto found = keep.find(name.empty() ? "weight" : name + ".weight");
    filtered->compute_only(found == keep.end() ? torch::Tensor() : found->second.flatten(1).any(1));
  });
}

}  // namespace thinpipe::trainer
