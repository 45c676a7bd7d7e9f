// SPDX-License-Identifier: Apache-2.0
// A classifier of images, or of the token that follows each token of a text. Parameter names, shapes and
// order are torchvision's if torchvision has the model. Every model can be differentiated twice, because
// pruning criteria need Hessian-vector products. Dropout is always SeededDropout, never torch's own.
#pragma once

#include "common/support/registry.hh"
#include "trainer/base/modules.hh"
#include "trainer/datasets/dataset.hh"

namespace thinpipe::trainer {

class Model : public torch::nn::Module {
 public:
  // Returns logits: float32 [n, classes]; for text [n, sequence_length, classes]. inputs: as returned by
  // Dataset::prepare.
  virtual torch::Tensor forward(const torch::Tensor& inputs) = 0;

  // Returns the name of the module whose parameters depend on the number of classes, such as "fc" or
  // "classifier.6". It is replaced when weights from another task are loaded. Its parameter "weight" has a
  // row for each class.
  virtual std::string head() const = 0;
};

// {"name": "small_cnn", "width": 16, …}. Weights are initialised from torch's global
// generator: seed it first.
using ModelRegistry = Registry<Model, const DataShape&>;
using ModelRegistration = Registration<Model, const DataShape&>;

// Throws InputError at the model's place unless the data set has images.
void expect_images(const JsonObject& model, const DataShape& data);

// Throws InputError at the model's place unless the data set has images or vectors of numbers.
void expect_images_or_vectors(const JsonObject& model, const DataShape& data);

// Throws InputError at the model's place unless the data set is text.
void expect_text(const JsonObject& model, const DataShape& data);

}  // namespace thinpipe::trainer
