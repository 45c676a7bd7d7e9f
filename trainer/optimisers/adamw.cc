// Loshchilov, Hutter: Decoupled Weight Decay Regularization (2019). Each step also takes learning_rate x
// weight_decay of each weight away, apart from the gradient.
#include "harness/support/options.hh"
#include "trainer/optimisers/optimiser.hh"

namespace thinpipe::trainer {
namespace {

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;

  void visit(auto& field) {
    field("learning_rate", learning_rate, Rule{.effect = "step size", .above = 0});
    field("beta1", beta1, Rule{.effect = "decay of the mean gradient", .at_least = 0, .below = 1});
    field("beta2", beta2, Rule{.effect = "decay of the mean squared gradient", .at_least = 0, .below = 1});
    field("epsilon", epsilon, Rule{.effect = "added to the root of the mean squared gradient", .above = 0});
    field("weight_decay", weight_decay,
          Rule{.effect = "share of each weight taken away a step, times the learning rate", .at_least = 0});
  }
};

const Registration<torch::optim::Optimizer, const std::vector<torch::Tensor>&> adamw_registration{
    "adamw", "Adam with weight decay apart from the gradient", describe_options<AdamWOptions>(),
    [](JsonObject& object, const std::vector<torch::Tensor>& parameters) {
      const auto options = read_options<AdamWOptions>(object);
      return std::make_unique<torch::optim::AdamW>(parameters,
                                                   torch::optim::AdamWOptions(options.learning_rate)
                                                       .betas({options.beta1, options.beta2})
                                                       .eps(options.epsilon)
                                                       .weight_decay(options.weight_decay));
    }};

}  // namespace
}  // namespace thinpipe::trainer
