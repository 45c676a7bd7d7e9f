// How the weights to prune are chosen.
#pragma once

#include "harness/support/registry.hh"
#include "trainer/models/model.hh"
#include "trainer/pruning/mask.hh"
#include "trainer/torch.hh"

namespace thinpipe::trainer {

// What a criterion may look at beside the weights.
struct PruningContext {
  const Dataset& dataset;
  std::uint64_t seed = 0;
};

class PruningCriterion {
 public:
  PruningCriterion() = default;
  virtual ~PruningCriterion() = default;
  PruningCriterion(const PruningCriterion&) = delete;
  PruningCriterion& operator=(const PruningCriterion&) = delete;
  PruningCriterion(PruningCriterion&&) = delete;
  PruningCriterion& operator=(PruningCriterion&&) = delete;

  // The mask for the model as it is now; leaves the model as it was, buffers and gradients included. The same
  // bits for the same weights, data and seed.
  virtual Mask choose(Model& model, const PruningContext& context) const = 0;
};

// Entries read their options, the ratio among them, from {"criterion": "magnitude", "ratio": 0.5, …}.
using PruningRegistry = Registry<PruningCriterion>;

// Makes what {"criterion": …, options…} asks for; the criterion defaults to magnitude. Throws InputError.
std::unique_ptr<PruningCriterion> make_criterion(const Json& value, const Place& place);

// Keeps the weights of highest importance (one tensor per layer of prunable_weights, of its shape) and
// removes floor(ratio * weights) of the lowest, ranked over all layers together; of equals, those of lowest
// index in the order of prunable_weights go first. Each layer's most important weight is exempt, so that no
// layer vanishes; when the ratio asks for more than the exemption leaves, all other weights go. Throws Error
// naming the layer when an importance is NaN or infinite.
Mask keep_most_important(const torch::nn::Module& model, const std::vector<torch::Tensor>& importance,
                         double ratio);

}  // namespace thinpipe::trainer
