// SPDX-License-Identifier: Apache-2.0
// Random pruning, the control: a criterion that does no better has learnt nothing.
#include "trainer/base/philox.hh"
#include "trainer/pruning/criterion.hh"

namespace thinpipe::trainer {
namespace {

struct RandomOptions {
  void visit(auto& /*field*/) {}
};

// Gives every weight a random number that depends on seed and position alone, and removes the weights with
// the smallest numbers. A higher ratio thus removes a superset, and choosing again changes nothing.
class Random : public PruningCriterion {
 public:
  Mask choose(Model& model, const PruningContext& context, double ratio) const override {
    std::vector<torch::Tensor> importance;
    for (const auto& [name, weight] : prunable_weights(model)) {
      torch::Tensor uniform = torch::empty(weight.sizes());
      fill_uniform({.seed = context.seed,
                    .step = static_cast<std::uint32_t>(importance.size()),
                    .bucket = static_cast<std::uint32_t>(Purpose::random_pruning)},
                   {uniform.data_ptr<float>(), static_cast<std::size_t>(uniform.numel())});
      importance.push_back(uniform);
    }
    return keep_most_important(model, importance, ratio, context.in_force);
  }
};

THINPIPE_REGISTER(Pruning){"random", "control: removes weights at random, by the run's seed",
                           describe_criterion<RandomOptions>(),
                           [](JsonObject& object) -> std::unique_ptr<PruningCriterion> {
                             read_options<RandomOptions>(object);
                             return std::make_unique<Random>();
                           }};

}  // namespace
}  // namespace thinpipe::trainer
