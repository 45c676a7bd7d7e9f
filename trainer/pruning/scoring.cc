// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/scoring.hh"

#include <map>

#include "trainer/models/batch_normalisation.hh"
#include "trainer/pruning/mask.hh"

namespace thinpipe::trainer {
Scoring::Scoring(Model& model) {
  for (const torch::Tensor& buffer : model.buffers()) buffers_.emplace_back(buffer, buffer.clone());
  std::map<std::string, torch::Tensor> by_name;
  model.apply([&](const std::string& name, torch::nn::Module& module) {
    modes_.emplace_back(&module, module.is_training());
    if (auto* const layer = dynamic_cast<FilteredLayer*>(&module)) {
      filtered_.emplace_back(layer, layer->computed());
      layer->compute_only({});
    }
    for (const auto& [own_name, weight] : prunable_members_of(module)) {
      const torch::Tensor stand_in = weight->detach().requires_grad_();
      replaced_.push_back({weight, *weight});
      *weight = stand_in;
      by_name[name.empty() ? own_name : name + "." + own_name] = stand_in;
    }
  });
  for (const auto& [name, unused] : prunable_weights(model)) stand_ins_.push_back(by_name.at(name));
  model.eval();
  for (const auto& [module, unused] : modes_) {
    if (normalises_batches(*module)) module->train();
  }
}

Scoring::~Scoring() {
  const torch::NoGradGuard no_grad;
  // In reverse: a module that is registered twice was replaced twice.
  for (auto replaced = replaced_.rbegin(); replaced != replaced_.rend(); ++replaced) {
    *replaced->place = replaced->original;
  }
  for (auto filtered = filtered_.rbegin(); filtered != filtered_.rend(); ++filtered) {
    filtered->first->compute_only(filtered->second);
  }
  for (const auto& [module, training] : modes_) module->train(training);
  for (const auto& [buffer, before] : buffers_) torch::Tensor(buffer).copy_(before);
}

}  // namespace thinpipe::trainer
