// A classifier of images. Parameter names follow torchvision's where the same model exists there.
#pragma once

#include "harness/support/registry.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/torch.hh"

namespace thinpipe::trainer {

class Model : public torch::nn::Module {
 public:
  // images: float32 [n, channels, height, width], normalised. Result: logits, float32 [n, classes].
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
};

// {"name": "small_cnn", "width": 16, …}. Weights are initialised from torch's global generator: seed it
// first.
using ModelRegistry = Registry<Model, const DataShape&>;

}  // namespace thinpipe::trainer
