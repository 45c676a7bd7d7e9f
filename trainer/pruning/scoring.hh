// A model made ready for scoring its weights, and put back as it was.
#pragma once

#include "trainer/models/model.hh"
#include "trainer/modules.hh"

namespace thinpipe::trainer {

// While this lives:
// - normalisation layers use the statistics of the batch; all else behaves as in evaluation, so that dropout
// does not
//   make the scores depend on chance;
// - the prunable layers use stand-ins for their weights, which share the values but have no hooks: a gradient
// taken
//   of them is not mistaken for a training step's.
// Its end restores weights, training modes and buffers.
class Scoring {
 public:
  explicit Scoring(Model& model);
  ~Scoring();
  Scoring(const Scoring&) = delete;
  Scoring& operator=(const Scoring&) = delete;
  Scoring(Scoring&&) = delete;
  Scoring& operator=(Scoring&&) = delete;

  // The stand-ins, in the order of prunable_weights: leaves that require gradients.
  const std::vector<torch::Tensor>& weights() const { return stand_ins_; }

 private:
  struct Replaced {
    torch::Tensor* place;  // the layer's own
    torch::Tensor original;
  };

  std::vector<std::pair<torch::nn::Module*, bool>> modes_;        // outer modules before those inside
  std::vector<std::pair<torch::Tensor, torch::Tensor>> buffers_;  // each with its former values
  std::vector<Replaced> replaced_;
  std::vector<torch::Tensor> stand_ins_;
};

}  // namespace thinpipe::trainer
