// Kingma, Ba: Adam: A Method for Stochastic Optimization (2015). Weight decay is added to the gradient; for
// decay apart from it take adamw.
#include "harness/support/options.hh"
#include "trainer/optimisers/optimiser.hh"

namespace thinpipe::trainer {
namespace {

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;

  void visit(auto& field) {
    field("learning_rate", learning_rate, Rule{.effect = "step size", .above = 0});
    field("beta1", beta1, Rule{.effect = "decay of the mean gradient", .at_least = 0, .below = 1});
    field("beta2", beta2, Rule{.effect = "decay of the mean squared gradient", .at_least = 0, .below = 1});
    field("epsilon", epsilon, Rule{.effect = "added to the root of the mean squared gradient", .above = 0});
    field("weight_decay", weight_decay,
          Rule{.effect = "added to the gradient, times the weight", .at_least = 0});
  }
};

const Registration<torch::optim::Optimizer, const std::vector<torch::Tensor>&> adam_registration{
    "adam", "Adam: steps scaled by running means of the gradient and its square",
    describe_options<AdamOptions>(), [](JsonObject& object, const std::vector<torch::Tensor>& parameters) {
      const auto options = read_options<AdamOptions>(object);
      return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(options.learning_rate)
                                                                  .betas({options.beta1, options.beta2})
                                                                  .eps(options.epsilon)
                                                                  .weight_decay(options.weight_decay));
    }};

}  // namespace
}  // namespace thinpipe::trainer
