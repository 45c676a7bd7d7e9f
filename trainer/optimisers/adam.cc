// SPDX-License-Identifier: Apache-2.0
// Kingma, Ba: Adam: A Method for Stochastic Optimization (2015). Weight decay is added to the gradient; for
// decoupled decay use adamw.
#include "trainer/optimisers/adam_moments.hh"
#include "trainer/optimisers/optimiser.hh"

namespace thinpipe::trainer {
namespace {

struct AdamOptions : AdamMoments {
  double weight_decay = 0;

  void visit(auto& field) {
    AdamMoments::visit(field);
    field("weight_decay", weight_decay,
          Rule{.effect = "weight decay: this times the weight is added to the gradient", .at_least = 0});
  }
};

THINPIPE_REGISTER(Optimiser){"adam", "Adam: steps scaled by running means of the gradient and its square",
                             describe_options<AdamOptions>(),
                             [](JsonObject& object, const OptimisedParameters& parameters) {
                               const auto options = read_options<AdamOptions>(object);
                               return std::make_unique<torch::optim::Adam>(
                                   parameters.all, torch::optim::AdamOptions(options.learning_rate)
                                                       .betas({options.beta1, options.beta2})
                                                       .eps(options.epsilon)
                                                       .weight_decay(options.weight_decay));
                             }};

}  // namespace
}  // namespace thinpipe::trainer
