// A classifier: of images, or of what follows each token of a text. Parameter names, shapes and order are
// torchvision's where the same model exists there. Every model can be differentiated twice: criteria of
// pruning take Hessian-vector products. Dropout is SeededDropout, never torch's own.
#pragma once

#include "harness/support/registry.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/modules.hh"

namespace thinpipe::trainer {

class Model : public torch::nn::Module {
 public:
  // inputs: what Dataset::prepare gives. Result: logits, float32 [n, classes]; of text [n, sequence_length,
  // classes].
  virtual torch::Tensor forward(const torch::Tensor& inputs) = 0;

  // The module whose parameters depend on the number of classes, as "fc" or "classifier.6": what is made anew
  // when weights from another task are loaded. Its parameter "weight" has a row for each class.
  virtual std::string head() const = 0;
};

// {"name": "small_cnn", "width": 16, …}. Weights are initialised from torch's global generator: seed it
// first.
using ModelRegistry = Registry<Model, const DataShape&>;
using ModelRegistration = Registration<Model, const DataShape&>;

// Throws InputError at the model's place unless the data set has images.
void expect_images(const JsonObject& model, const DataShape& data);

// Throws InputError at the model's place unless the data set is text.
void expect_text(const JsonObject& model, const DataShape& data);

}  // namespace thinpipe::trainer
