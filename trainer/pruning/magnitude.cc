// SPDX-License-Identifier: Apache-2.0
// Magnitude pruning removes the weights of smallest |w|, ranked over all layers together or
// within each layer.
// Han, Pool, Tran, Dally: Learning both Weights and Connections for Efficient Neural Networks (2015).
#include "trainer/pruning/criterion.hh"

namespace thinpipe::trainer {
namespace {

struct MagnitudeOptions {
  void visit(auto& /*field*/) {}
};

std::vector<torch::Tensor> magnitudes(const torch::nn::Module& model) {
  std::vector<torch::Tensor> importance;
  for (const auto& [name, weight] : prunable_weights(model)) importance.push_back(weight.detach().abs());
  return importance;
}

// Pruned weights are zero, the smallest magnitude: they never come back.
class Magnitude : public PruningCriterion {
 public:
  Mask choose(Model& model, const PruningContext& context, double ratio) const override {
    return keep_most_important(model, magnitudes(model), ratio, context.in_force);
  }
};

class MagnitudePerLayer : public PruningCriterion {
 public:
  Mask choose(Model& model, const PruningContext& context, double ratio) const override {
    return keep_most_important_of_each_layer(model, magnitudes(model), ratio, context.in_force);
  }
};

template <class Criterion>
std::unique_ptr<PruningCriterion> make(JsonObject& object) {
  read_options<MagnitudeOptions>(object);
  return std::make_unique<Criterion>();
}

THINPIPE_REGISTER(Pruning){"magnitude",
                           "removes the weights of smallest magnitude, ranked over all layers together",
                           describe_criterion<MagnitudeOptions>(), make<Magnitude>};

THINPIPE_REGISTER(Pruning){"magnitude_per_layer",
                           "removes the weights of smallest magnitude of each layer, the same share in each",
                           describe_criterion<MagnitudeOptions>(), make<MagnitudePerLayer>};

}  // namespace
}  // namespace thinpipe::trainer
