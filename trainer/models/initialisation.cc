// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/initialisation.hh"

namespace thinpipe::trainer {

void initialise_convolutions(torch::nn::Module& model) {
  model.apply([](const std::string& /*name*/, torch::nn::Module& module) {
    if (auto* layer = module.as<torch::nn::Conv2d>()) {
      torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
      if (layer->bias.defined()) torch::nn::init::zeros_(layer->bias);
    }
  });
}

}  // namespace thinpipe::trainer
