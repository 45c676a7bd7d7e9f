// SPDX-License-Identifier: Apache-2.0
// Pruning criteria, which choose the weights to prune.
#pragma once

#include "common/support/registry.hh"
#include "trainer/base/modules.hh"
#include "trainer/models/model.hh"
#include "trainer/pruning/mask.hh"
#include "trainer/pruning/schedule.hh"

namespace thinpipe::trainer {

// A criterion's inputs besides the weights.
struct PruningContext {
  const Dataset& dataset;
  std::uint64_t seed = 0;
  const Mask* in_force = nullptr;  // the mask of earlier pruning; null before the first
};

class PruningCriterion {
 public:
  PruningCriterion() = default;
  virtual ~PruningCriterion() = default;
  PruningCriterion(const PruningCriterion&) = delete;
  PruningCriterion& operator=(const PruningCriterion&) = delete;
  PruningCriterion(PruningCriterion&&) = delete;
  PruningCriterion& operator=(PruningCriterion&&) = delete;

  // Returns the mask that removes `ratio` of the weights of the current model, whose pruned weights are zero.
  // A criterion that removes weights in groups removes at most that many: whole groups, as many as fit.
  // Leaves the model unchanged, including buffers, gradients and training mode. The same weights, data and
  // seed give the same bits. A pruned weight is ranked like any other: it comes back, as zero, if the
  // criterion prefers a zero to some weight that was kept.
  virtual Mask choose(Model& model, const PruningContext& context, double ratio) const = 0;

  // Returns whether choose() reads context.dataset.
  virtual bool looks_at_data() const { return false; }
};

// Criteria read their own options from {"criterion": "grasp", "ratio": 0.5, "temperature": 200, …};
// make_pruning reads ratio and the rest of the schedule.
using PruningRegistry = Registry<PruningCriterion>;
using PruningRegistration = Registration<PruningCriterion>;

// Describes the options of a criterion for its registration: the schedule's options, then its own.
template <class Options>
Json describe_criterion() {
  Json described = describe_options<PruningScheduleOptions>();
  for (const Json& option : describe_options<Options>()) described.push_back(option);
  return described;
}

// Removes the floor(ratio * weights) weights of lowest importance and keeps the others.
// importance: one tensor per layer of prunable_weights, of its shape; all layers are ranked together. Among
// equals, already pruned weights go first, then those of lowest index in the order of prunable_weights. Each
// layer's most important weight is exempt, so that no layer vanishes; if the ratio then asks for more than is
// left, all other weights go. Throws Error naming the layer if an importance is NaN or infinite.
Mask keep_most_important(const torch::nn::Module& model, const std::vector<torch::Tensor>& importance,
                         double ratio, const Mask* in_force = nullptr);

// Removes floor(ratio * weights) of each layer separately; otherwise like keep_most_important().
Mask keep_most_important_of_each_layer(const torch::nn::Module& model,
                                       const std::vector<torch::Tensor>& importance, double ratio,
                                       const Mask* in_force = nullptr);

}  // namespace thinpipe::trainer
