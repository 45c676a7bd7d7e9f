// How the weights to prune are chosen.
#pragma once

#include "harness/support/registry.hh"
#include "trainer/models/model.hh"
#include "trainer/modules.hh"
#include "trainer/pruning/mask.hh"
#include "trainer/pruning/schedule.hh"

namespace thinpipe::trainer {

// What a criterion may look at beside the weights.
struct PruningContext {
  const Dataset& dataset;
  std::uint64_t seed = 0;
  const Mask* in_force = nullptr;  // what earlier pruning has left; null before the first
};

class PruningCriterion {
 public:
  PruningCriterion() = default;
  virtual ~PruningCriterion() = default;
  PruningCriterion(const PruningCriterion&) = delete;
  PruningCriterion& operator=(const PruningCriterion&) = delete;
  PruningCriterion(PruningCriterion&&) = delete;
  PruningCriterion& operator=(PruningCriterion&&) = delete;

  // The mask that removes `ratio` of the weights of the model as it is now, whose pruned weights are zero;
  // leaves the model as it was, buffers, gradients and training mode included. The same bits for the same
  // weights, data and seed. A pruned weight is ranked like any other: it comes back, at zero, when the
  // criterion prefers a zero to some weight that was kept.
  virtual Mask choose(Model& model, const PruningContext& context, double ratio) const = 0;

  // Whether choose() reads context.dataset.
  virtual bool looks_at_data() const { return false; }
};

// Entries read their own options from {"criterion": "grasp", "ratio": 0.5, "temperature": 200, …}; ratio and
// the rest of the schedule are read by make_pruning.
using PruningRegistry = Registry<PruningCriterion>;
using PruningRegistration = Registration<PruningCriterion>;

// For a criterion's registration: the options of the schedule, then its own.
template <class Options>
Json describe_criterion() {
  Json described = describe_options<PruningScheduleOptions>();
  for (const Json& option : describe_options<Options>()) described.push_back(option);
  return described;
}

// Keeps the weights of highest importance (one tensor per layer of prunable_weights, of its shape) and
// removes floor(ratio * weights) of the lowest, ranked over all layers together; of equals, those that are
// pruned already go first, then those of lowest index in the order of prunable_weights. Each layer's most
// important weight is exempt, so that no layer vanishes; when the ratio asks for more than the exemption
// leaves, all other weights go. Throws Error naming the layer when an importance is NaN or infinite.
Mask keep_most_important(const torch::nn::Module& model, const std::vector<torch::Tensor>& importance,
                         double ratio, const Mask* in_force = nullptr);

// The same with floor(ratio * weights) removed of each layer by itself.
Mask keep_most_important_of_each_layer(const torch::nn::Module& model,
                                       const std::vector<torch::Tensor>& importance, double ratio,
                                       const Mask* in_force = nullptr);

}  // namespace thinpipe::trainer
