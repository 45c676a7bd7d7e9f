// SPDX-License-Identifier: Apache-2.0
// Prepares a model for scoring its weights, and restores it afterwards.
#pragma once

#include "trainer/base/modules.hh"
#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/models/model.hh"

namespace thinpipe::trainer {

// While this object lives:
// - normalisation layers use the statistics of the batch; everything else behaves as in evaluation, so that
//   scores do not depend on dropout's random choices;
// - the prunable layers use stand-ins for their weights, which share the values but have no hooks, so that a
//   gradient of the scores is not mistaken for a training step's;
// - all filters are computed, so that pruned ones have scores and may return.
// The destructor restores weights, training modes, buffers and the filters to compute.
class Scoring {
 public:
  explicit Scoring(Model& model);
  ~Scoring();
  Scoring(const Scoring&) = delete;
  Scoring& operator=(const Scoring&) = delete;
  Scoring(Scoring&&) = delete;
  Scoring& operator=(Scoring&&) = delete;

  // Returns the stand-ins, in the order of prunable_weights: leaves that require gradients.
  const std::vector<torch::Tensor>& weights() const { return stand_ins_; }

 private:
  struct Replaced {
    torch::Tensor* place;  // the layer's member
    torch::Tensor original;
  };

  std::vector<std::pair<torch::nn::Module*, bool>> modes_;        // outer modules before inner ones
  std::vector<std::pair<torch::Tensor, torch::Tensor>> buffers_;  // each with its old values
  std::vector<Replaced> replaced_;
  std::vector<std::pair<FilteredLayer*, torch::Tensor>> filtered_;  // each with the filters that it computed
  std::vector<torch::Tensor> stand_ins_;
};

}  // namespace thinpipe::trainer
