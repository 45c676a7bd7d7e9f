// SPDX-License-Identifier: Apache-2.0
// Loshchilov, Hutter: Decoupled Weight Decay Regularization (2019). Each step also subtracts learning_rate x
// weight_decay of each weight, independently of the gradient.
#include "trainer/optimisers/adam_moments.hh"
#include "trainer/optimisers/optimiser.hh"

namespace thinpipe::trainer {
namespace {

struct AdamWOptions : AdamMoments {
  double weight_decay = 0.01;

  void visit(auto& field) {
    AdamMoments::visit(field);
    field("weight_decay", weight_decay,
          Rule{.effect = "share of each weight subtracted per step, times the learning rate", .at_least = 0});
  }
};

THINPIPE_REGISTER(Optimiser){"adamw", "Adam with weight decay decoupled from the gradient",
                             describe_options<AdamWOptions>(),
                             [](JsonObject& object, const OptimisedParameters& parameters) {
                               const auto options = read_options<AdamWOptions>(object);
                               return std::make_unique<torch::optim::AdamW>(
                                   parameters.all, torch::optim::AdamWOptions(options.learning_rate)
                                                       .betas({options.beta1, options.beta2})
                                                       .eps(options.epsilon)
                                                       .weight_decay(options.weight_decay));
                             }};

}  // namespace
}  // namespace thinpipe::trainer
